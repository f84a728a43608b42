"""Finds what chooses a device for a package that does not know every accelerator, by the table of such packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.in_double import is_made_double
from tdev_core.codemod.engine.vocabulary import (
    DEVICE_NAME,
    RUNTIMES,
    imported_from,
    names_of_runtimes,
)
from tdev_core.ecosystem.device_table import holders

_OF_RAY = re.compile(r"(?<![a-z])ray(?:_\w+)?\.|\bresources_per_trial\b|\btrialGpuNumber\b")
# Which torch's launchers are told as well: `launch(main, num_gpus_per_machine=…)`.
_PER_WORKER = re.compile(r"\bnum_gpus_per_\w+")
# TensorFlow's and PaddlePaddle's: `"/gpu:0"`, `"gpu:0"`.
_OF_ANOTHER = re.compile(r"/?(?:device:)?gpu:\d+\Z", re.IGNORECASE)

# The distribution of one, which is another for each device: `"onnxruntime" + ("-gpu" if … else "")`.
_PACKAGE_OF_ANOTHER = re.compile(
    r"[fF]?[\"'](?:tensorflow|onnxruntime|paddlepaddle|faiss|mxnet)[-{\"']", re.IGNORECASE
)


_HOLDERS = [known.name for known in holders().values() if known.only_cuda_or_cpu]
_FROM_HOLDER = re.compile(rf"^[ \t]*(?:import|from)[ \t]+({'|'.join(_HOLDERS)})\b", re.MULTILINE)
# What is called after one that a program gets from elsewhere: `build_dgl_graph(`.
_NAMED = [known.name for known in holders().values() if known.named and known.only_cuda_or_cpu]
_CALLED_AFTER = re.compile(rf"\b\w*_({'|'.join(_NAMED)})_\w+\(")


def _that_make_doubles() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield what makes doubles where it is placed, by its last name, and the import of a package that has one of that name."""
    every = [full for known in holders().values() for full in known.doubles]
    for name in {full.rpartition(".")[2] for full in every}:
        packages = (full.partition(".")[0] for full in every if full.endswith(f".{name}"))
        imports = rf"^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(packages)})\b"
        yield name, re.compile(imports, re.MULTILINE)


_MAKE_DOUBLES = dict(_that_make_doubles())


def holder_of(file: File, question: cst.CSTNode) -> str:
    """Return what a file works with that holds tensors on CUDA and the CPU alone: all of its devices are chosen alike.

    An answer that is kept, and chooses none, opens something else, but in that package's own project.
    """
    if not (held := holder_beside(file, question)):
        return ""
    itself = file.options.tree is not None and bool(file.options.tree.own_holders)
    return held if itself or _decides_here(file, question) else ""


def holder_beside(file: File, question: cst.CSTNode) -> str:
    """Return what a file, or the class of a question, works with that holds tensors on CUDA and the CPU alone."""
    if file.options.style == "accelerator":
        return ""  # that target has a reason of its own
    itself = file.options.tree.own_holders if file.options.tree is not None else frozenset()
    if file.options.tree is not None and file.options.tree.works_with:
        return file.options.tree.works_with
    for pattern, words in ((_FROM_HOLDER, _HOLDERS), (_CALLED_AFTER, _NAMED)):
        if file.in_code(pattern, *words) is None:
            continue
        for found in pattern.finditer(file.code):
            held = found[1] not in _own(file) or found[1] in itself
            if held and _serves(file, found.end(), question):
                return holders()[found[1]].called
    return _whose_device_it_takes(file)


def _whose_device_it_takes(file: File) -> str:
    """Return what a module of the tree works with whose device a file takes, ``from .encoders import *``: its own go with that."""
    held = file.options.tree.held_devices if file.options.tree is not None else {}
    if not held:
        return ""
    for name, modules in imported_from(file.code).items():
        if name == "*" or DEVICE_NAME.search(name.lower()) is not None:
            for module in modules:
                if (stem := module.rpartition(".")[2]) in held:
                    return held[stem]
    return ""


def _serves(file: File, at: int, question: cst.CSTNode) -> bool:
    """Tell whether what a line imports or calls may be there for what a question decides.

    What a class takes for itself, in its own methods, says nothing of the class beside it that asks: ``class Warp`` beside
    ``class Torch``.
    """
    of = _class_around(file, at)
    asking = _class_around(file, file.tree.span(question)[0]) if of is not None else None
    return asking is None or of == asking


def _class_around(file: File, at: int) -> tuple[int, int] | None:
    """Return where the innermost class around a place of the text begins and ends."""
    if (python := file.python) is None or "class" not in file.code:
        return None
    spans = [python.span(each) for each in python.statements if isinstance(each, ast.ClassDef)]
    return max((span for span in spans if span[0] <= at < span[1]), default=None)


def _decides_here(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question is the test of a choice, or its answer is kept for one of a device."""
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Assign) and isinstance(parent.targets[0].target, cst.Name):
            name = parent.targets[0].target.value
            chosen = rf"(?:[\"']cuda(?::\d+)?[\"']\)?|\bcuda\.\w+Tensor)\s+if\s+{name}\b|\bif\s+{name}\s*:\s*[\w.]+\s*=[^\n]*[\"']cuda\b"
            return re.search(chosen, file.code) is not None
        if isinstance(parent, (cst.If, cst.IfExp, cst.BaseSmallStatement)):
            return True
    return True


_CUDA = re.compile(r"[\"']cuda(?::\d+)?[\"']")
_ASKS = re.compile(r"\bcuda\.(?:is_available|device_count)\(")
_TO_DOUBLE = re.compile(r"\.to\(\s*(?:dtype\s*=\s*)?torch\.(?:float64|double)\b|\.double\(\)")
# What lies on the CPU by then.
_ON_THE_CPU = re.compile(r"\bcpu\b|\bnumpy\b|#[^\n]*\Z")


def why_its_user_needs_it(file: File, question: cst.CSTNode) -> str | None:
    """Name what a device is chosen for that works on CUDA and the CPU alone, by what the program itself says of it.

    It refuses all others, or it, or the class that keeps the device, computes in double precision.
    """
    if file.options.style == "accelerator":
        return None
    choice = device_choice(file, question)
    moves = _moves_there(file, question) if choice is None else choice
    if moves is None or _ASKS.search(file.tree.text(moves.test)) is None:
        return None  # what a person asked for
    around = [
        p for p in file.tree.ancestors(moves) if isinstance(p, (cst.FunctionDef, cst.ClassDef))
    ]
    home = next((p for p in around if isinstance(p, cst.ClassDef)), None)
    if home is not None and _computes_in_double(file, home, choice):
        return f"the device of {home.name.value}, which computes in double precision"
    if taker := _made_double_by(file, question):
        return f"the device of {taker}, which computes in double precision"
    tests = "def test_" in file.code  # each of which has a device of its own
    if choice is not None and not (around or tests) and _widens(file):
        return "what this file computes in double precision"
    unable = file.options.tree.unable if file.options.tree is not None else {}
    if not unable:
        return None
    unit = around[-1].name.value if around else ""
    if not around and choice is not None:
        unit = _given_to(file, choice, unable)
    if unit not in unable:
        return None
    return f"the device of {unable[unit]}, which works on CUDA and the CPU alone"


def device_choice(file: File, question: cst.CSTNode) -> cst.IfExp | cst.If | None:
    """Return the choice of a device that a question decides, if it does: by an expression, or by an ``if`` that sets one."""
    below = question
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.IfExp):
            arms = [file.tree.text(parent.body), file.tree.text(parent.orelse)]
            return parent if below is parent.test and any(map(_CUDA.search, arms)) else None
        if isinstance(parent, cst.If):
            body = without_messages(file.tree.text(parent.body))
            short = len(body.strip().splitlines()) == 1 and ("=" in body or "return" in body)
            return parent if below is parent.test and short and _CUDA.search(body) else None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return None
        below = parent
    return None


_MOVES = re.compile(r"\.cuda\(")


def _moves_there(file: File, question: cst.CSTNode) -> cst.If | None:
    """Return the ``if`` that takes something to CUDA where there is one: ``if torch.cuda.is_available(): model.cuda()``."""
    around = file.tree.ancestors(question)
    decides = next((p for p in around if isinstance(p, (cst.If, cst.BaseSmallStatement))), None)
    if not isinstance(decides, cst.If) or _MOVES.search(file.tree.text(decides.body)) is None:
        return None
    return decides


def _is_widened(text: str) -> bool:
    """Tell whether a line makes something double, and says nothing of the CPU."""
    return any(
        _TO_DOUBLE.search(line) and not _ON_THE_CPU.search(line) for line in text.splitlines()
    )


def _widens(file: File) -> bool:
    """Tell whether code of a file makes something double that it does not take to the CPU: ``x.double()``, ``x.to(torch.float64)``."""
    if _is_widened(file.code) and (tree := file.python) is not None:
        for node in tree.everything:
            match node:
                case ast.Call(func=ast.Attribute(value=value, attr="double"), args=[]):
                    pass
                case ast.Call(
                    func=ast.Attribute(value=value, attr="to"),
                    args=[ast.Attribute(attr="float64" | "double")],
                ):
                    pass
                case _:
                    continue
            if _ON_THE_CPU.search(ast.unparse(value)) is None:
                return True
    return False


def _computes_in_double(file: File, home: cst.ClassDef, choice: cst.IfExp | cst.If | None) -> bool:
    """Tell whether a class computes in double precision on the device that it keeps, whose choice this is, or that it moves to."""
    keeps = choice is not None and _is_kept(file, choice)
    text = file.tree.text(home)
    if choice is None:
        keeps = _KEEPS_A_CHOICE.search(text) is not None
    if not keeps or (python := file.python) is None:
        return False
    if _is_widened(text):
        return True
    place = _class_around(file, file.tree.span(home)[1] - 1)
    classes = (each for each in python.statements if isinstance(each, ast.ClassDef))
    node = next((each for each in classes if python.span(each) == place), None)
    return node is not None and is_made_double(node, text)


def _made_double_by(file: File, question: cst.CSTNode) -> str:
    """Return what a file imports that makes doubles on the device it is given, for which that may be chosen."""
    for name, pattern in _MAKE_DOUBLES.items():
        found = file.in_code(pattern, name)
        if found is not None and _serves(file, found.start(), question):
            return name
    return ""


# `logger.info("Using the GPU.")`, which is said besides.
_TOLD = re.compile(
    r"^[ \t]*(?:print|(?:\w+\.)*log\w*\.\w+|warnings\.warn)\((?:[^()]|\([^()]*\))*\)[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)


def without_messages(body: str) -> str:
    """Return the text of an arm without what it only says."""
    return _TOLD.sub("", body)


_KEPT = r"\bself\.\w+[ \t]*(?::[^=\n]+)?=(?!=)"
_IS_KEPT = re.compile(_KEPT)
_KEEPS_A_CHOICE = re.compile(_KEPT + r"[^\n]*\bcuda\.is_available\(")
_SETS = re.compile(r"(?:if\b[^\n]*\s+)?(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")


def _is_kept(file: File, choice: cst.IfExp | cst.If) -> bool:
    """Tell whether the object keeps the device for its other methods: ``self.device = …``, by a variable of the method's, too."""
    text = file.tree.text(file.tree.statement(choice) if isinstance(choice, cst.IfExp) else choice)
    if _IS_KEPT.search(text) is not None:
        return True
    name, home = _SETS.match(text), enclosing_function(file, choice)
    if name is None or home is None:
        return False
    kept = re.compile(
        rf"{_KEPT}[ \t]*(?:(?:\w+\.)?device\([ \t]*)?{name[1]}[ \t]*\)?[ \t]*$", re.MULTILINE
    )
    return kept.search(file.tree.source, *file.tree.span(home)) is not None


def _given_to(file: File, choice: cst.IfExp | cst.If, names: Collection[str]) -> str:
    """Return which of these a script gives the device that it chooses at its margin; the empty name for none."""
    text = file.tree.text(file.tree.statement(choice))
    kept = _SETS.match(text)
    if kept is None:
        return ""
    given = rf"\b(\w+)\((?:[^()]|\([^()]*\))*(?<![\w.]){kept[1]}\b(?![ \t]*=(?!=))"
    return next((f[1] for f in re.finditer(given, file.code) if f[1] in names), "")


def names_of_another_framework(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question chooses the device, or the distribution, of a framework beside torch, by its name for it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp) and _OF_ANOTHER.match(string_value(parent.body) or ""):
            return True
        if isinstance(parent, (cst.FormattedString, cst.BinaryOperation)):
            return _PACKAGE_OF_ANOTHER.match(file.tree.text(parent)) is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Arg)):
            return False
    return False


def imports_a_runtime(file: File) -> bool:
    """Tell whether a file works with such a package, whose objects have a ``device`` that is a string."""
    spoken = any(name in file.tree.source for name in RUNTIMES)
    return spoken and bool(names_of_runtimes(file.code, _own(file)))


def _own(file: File) -> frozenset[str]:
    """Return the packages of the program itself, which are none of those by whose names they are called."""
    return file.options.tree.modules if file.options.tree is not None else frozenset()


# `PaddleOCR(use_gpu=torch.cuda.is_available())`
_SWITCH = re.compile(r"(?:use_)?(?:gpu|cuda)\Z")


def handed_to_a_runtime(file: File, node: cst.CSTNode) -> str | None:
    """Return the callable of such a package that is told the device which a question chooses, if one is."""
    names = names_of_runtimes(file.code, _own(file)) if imports_a_runtime(file) else frozenset()
    by_name = file.options.tree.runtimes if file.options.tree is not None else frozenset()
    if by_name and _is_typed(file, node):
        return ", ".join(sorted(by_name))
    if not names:
        return None
    callable_ = rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})(?:\.\w+)*"
    chosen = False
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp):
            chosen = True
        elif isinstance(parent, cst.Arg) and parent.keyword is not None:
            chosen = chosen or _SWITCH.match(parent.keyword.value) is not None
        elif isinstance(parent, cst.Call) and chosen:
            if found := re.match(callable_ + r"(?=\()", file.tree.text(parent)):
                return found.group()
        elif isinstance(parent, (cst.Assign, cst.AnnAssign)) and chosen:
            target = parent.targets[0].target if isinstance(parent, cst.Assign) else parent.target
            home = enclosing_function(file, parent) or file.tree.module
            # A call of no concern to any rule is not in the tree.
            told = rf"({callable_})\((?:[^()]|\([^()]*\))*\bdevice[ \t]*=[ \t]*{re.escape(file.tree.text(target))}\b"
            found = re.search(told, file.tree.source[slice(*file.tree.span(home))])
            return found[1] if found is not None else None
        elif isinstance(parent, cst.BaseSuite):
            return None
    return None


def _is_typed(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question chooses the word that a command line has where none is typed: its ``default``."""
    chosen = False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.IfExp):
            chosen = True
        elif isinstance(parent, cst.Call) and chosen:
            func = parent.func
            return isinstance(func, cst.Attribute) and func.attr.value == "add_argument"
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
    return False


_IMPORTS_RAY = re.compile(r"^[ \t]*(?:import|from)[ \t]+ray\b", re.MULTILINE)
_RAYS_GPUS = re.compile(r"(?:\A|_)num_gpus?(?:\Z|_)")
# `Resources(cpus=8, gpus=n)`, of which Ray is asked by whoever gets it.
_GPUS = re.compile(r"(?:num_)?gpus?\Z")
_RESOURCES = re.compile(r"(?:\w+\.)*\w*Resources\Z")
_ASSERTS_RAYS = re.compile(r"\bassert\b[^\n]*\b(?:use_gpu|num_gpus|num_workers)\b")
_TO_A_BUNDLE = re.compile(r"\s*\w+\[[\"']GPU[\"']\][ \t]*=[^\n]*\s*\Z")
RAY = "decides about GPUs that Ray is asked for, which counts no other accelerator; left as it is"


def told_to_ray(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer is among the resources that a statement asks Ray for, or becomes their number.

    Of what Ray does not find, such a request is never granted. It finds no GPU of Apple's: github.com/ray-project/ray/pull/38464
    is not merged.
    """
    rays = file.on_a_line(_IMPORTS_RAY, "ray") is not None
    if _becomes_resources(file, node):
        return True
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if rays and isinstance(parent, cst.If) and below is parent.test:
            body = file.tree.text(parent.body)
            return (
                _TO_A_BUNDLE.match(body) is not None
                or _ASSERTS_RAYS.search(body) is not None
                or _is_of_ray(file, parent)
            )
        if isinstance(parent, cst.BaseSmallStatement):
            text = file.tree.text(parent)
            if _OF_RAY.search(text) is not None:
                return True
            if (rays or _uses_ray(file)) and _PER_WORKER.search(text) is not None:
                return True
            return rays and _is_of_ray(file, parent)
        if isinstance(parent, cst.BaseSuite):
            return False
        below = parent
    return False


def _uses_ray(file: File) -> bool:
    """Tell whether some file of the program works with Ray."""
    return file.options.tree is not None and file.options.tree.uses_ray


def _becomes_resources(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a count becomes the GPUs among the resources of a program that works with Ray: ``Resources(gpus=n)``."""
    if not _uses_ray(file) or "Resources(" not in file.tree.source:
        return False
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Call) and isinstance(below, cst.Arg):
            if below.keyword is not None and _GPUS.match(below.keyword.value):
                if _RESOURCES.match(file.tree.text(parent.func)) is not None:
                    return True
        elif isinstance(parent, cst.Assign):
            name, home = file.tree.text(parent.targets[0].target), enclosing_function(file, parent)
            if _GPUS.match(name) is None or home is None:
                return False
            told = rf"\b\w*Resources\((?:[^()]|\([^()]*\))*\b(?:num_)?gpus?[ \t]*=[ \t]*{name}\b"
            return re.search(told, file.tree.source[slice(*file.tree.span(home))]) is not None
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _is_of_ray(file: File, statement: cst.CSTNode) -> bool:
    """Tell whether a statement gives a variable, or a function returns, the number of Ray's GPUs, or decides by it."""
    home = enclosing_function(file, statement)
    if isinstance(statement, (cst.Assign, cst.AnnAssign)):
        target = (
            statement.targets[0].target if isinstance(statement, cst.Assign) else statement.target
        )
        name = file.tree.text(target)
        return _RAYS_GPUS.search(name) is not None and not _chooses_by(file, name, statement)
    if home is None:
        return False
    if isinstance(statement, cst.Return):
        return _RAYS_GPUS.search(home.name.value) is not None
    names = (each.name.value for each in (*home.params.params, *home.params.kwonly_params))
    return isinstance(statement, cst.If) and any(map(_RAYS_GPUS.search, names))


def _chooses_by(file: File, name: str, statement: cst.CSTNode) -> bool:
    """Tell whether a device is chosen by a number of GPUs: ``torch.device("cuda:1") if num_gpus > 1 else …``."""
    low, high = file.tree.span(statement)
    home = enclosing_function(file, statement) or file.tree.module
    chosen = re.compile(
        rf"^(?=[^\n]*(?<![\w.]){re.escape(name)}\b)[^\n]*(?:[\"']cuda\b|\bdevice\()", re.MULTILINE
    )
    around = chosen.finditer(file.code, *file.tree.span(home))
    return any(not low <= found.end() <= high for found in around)
