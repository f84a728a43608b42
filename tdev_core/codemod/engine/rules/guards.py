"""Tests that decide about code which only CUDA can run keep meaning CUDA."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.survey import GUARDED, OF_NVIDIAS
from tdev_core.codemod.engine.vocabulary import NOTE, RUNTIMES

_GPU_PACKAGES = r"\b(?:onnxruntime|paddlepaddle|tensorflow|faiss|mxnet)[-_]gpu\b"
_NVIDIA = r"\bnvidia-smi\b|\bnvcc\b"
# A package's name, alone or in that of a flag (`_TRITON_AVAILABLE`).
_PACKAGE = rf"(?i:(?<![a-z])(?:{GUARDED})(?![a-z])|(?<![a-z])fused_?(?:adam|lamb|layer_?norm|rms_?norm)\w*)"
_CUDA_ONLY = re.compile(
    rf"{_PACKAGE}|(?i:(?<![a-z])flash(?![a-z]))"
    r"|\b(load_inline|cpp_extension)\b|\bimport \w*_cuda|\b_C\.|\b\w*_ext\.|torch\.ops\.|CUDAExecutionProvider"
    rf"|{_NVIDIA}|{_GPU_PACKAGES}|(?i:\btensorrt)"
    # what a process takes from another one by CUDA's own handles
    r"|\b_(?:share|new_shared)_cuda_?\b"
    # products that only CUDA has, or takes in this way
    r"|\btorch\._(?:scaled|int|grouped|weight)\w*mm\b|\bout_dtype="
    # CUDA graphs of the program's own, without which it runs as well
    r"|\bcuda_graphs?_\w+|\buse_cuda_graphs?\b"
    # a class or a flag of the program's own: `CUDAHashMap(`, `WITH_CUDA_HASH_MAP`
    r"|(?<![.\w])_?(?:CUDA|Cuda)(?!Graph\b)[A-Z]\w*\(|\b(?:WITH|HAS|HAVE)_CUDA_\w"
    # a function of the program's own that says it is CUDA's, but not `use_cuda()` or `to_cuda()`
    r"|\b(?!\w*(?:is|use|has|to|on|no|using|answers)_cuda)\w*_cuda(?:_\w+)?(?:\.\w+)*\("
)


# What is asked for by a variable or a function of this name has been written for CUDA.
KERNEL_NAME = re.compile(
    r"(?i:kernel(?!_?(?:size|width|dim))|triton|flash_?att|cupy|cucim|xformers)|\b(?:use|has)_cp\b"
)
# Kernels of the program's own: compiled, or imported as an extension.
_EXTENSION = re.compile(
    r"\bCUDAExtension\b|\bload_inline\b|\bcpp_extension\b|\bimport \w+_cuda\b|\.cu[\"']"
)
# What torch was built with: None where that is not CUDA.
_BUILD = re.compile(r"\bversion\.(?:cuda|hip)\b")
_PACKAGES = re.compile(_PACKAGE)
# NVIDIA's products, in what a choice by the architecture says: `print("A100 detected, using flash attention")`.
_PRODUCTS = re.compile(r"\b(?:[AHV]100|B200|GH200)\b")
# What CUDA graphs need, and torch.compile's.
_GRAPHS = re.compile(r"\bcudagraph_\w+|\bcudagraph_trees\b")
# NVIDIA's management library, and what a function says of itself.
_NVML = re.compile(r"(?i:\bnvml|pynvml)")
_SAYS_NVML = re.compile(r"(?i:nvml)|\bnvidia-smi\b|\bNVIDIA\b")
# Other programs that only know NVIDIA's devices.
_RUNTIME = re.compile(rf"CUDAExecutionProvider|{_NVIDIA}|{_GPU_PACKAGES}")
_ATTENTION = re.compile(r"\battn_(?:backend|implementation)\b")
_OF_RAY = re.compile(r"(?<![a-z])ray(?:_\w+)?\.|\bresources_per_trial\b|\bnum_gpus_per_\w+")
# NVIDIA's loader of data, and the word that it takes for a device.
_DALI = re.compile(r"(?i:(?<![a-z])dali(?![a-z]))")
_GPU = re.compile(r"[\"']gpu[\"']")
# What is used decides, and no word of the text.
_NO_WORDS = re.compile(r"(?!)")
_SAID = re.compile(
    r"#.*\b(?:cuda[- ]only|only\s+(?:\w+\s+)?cuda)\b|#.*\bnccl\b|#.*\bnvidia\b|#.*\bcuda kernel"
    r"|#.*\btriton\b",
    re.IGNORECASE,
)


def availability_guards(file: File, node: cst.CSTNode) -> str | None:
    """Name what is decided by asking whether there is CUDA, if that is written for CUDA alone."""
    if guards_cuda_only(file, node, _EXTENSION):
        return "kernels written for CUDA"
    if guards_cuda_only(file, node, _BUILD):
        return "what torch was built with"
    if asks_for_the_build(file, node) is not None or guards_cuda_only(file, node, _PRODUCTS):
        return "what is decided by the build or the architecture"
    if guards_cuda_only(file, node, _GRAPHS):
        return "CUDA graphs"
    if _sets_cudnn(file, node):
        return "settings of cuDNN"
    if works_with_nvml(file, node):
        return "what only knows NVIDIA's devices"
    if guards_cuda_only(file, node, _PACKAGES):
        return "packages that exist for CUDA only"
    if guards_cuda_only(file, node, _NO_WORDS):
        return "kernels written for CUDA"
    if guards_cuda_only(file, node, _RUNTIME) or _kept_for(file, node, _RUNTIME):
        return "what only knows NVIDIA's devices"
    if guards_cuda_only(file, node, _ATTENTION):
        return "which attention is taken, and CUDA has more of them"
    if _names_of_another_framework(file, node):
        return "the device of another framework, which does not know every accelerator"
    if (runtime := _handed_to_a_runtime(file, node)) is not None:
        return f"the device of {runtime}, which knows CUDA and the CPU alone"
    if _told_to_ray(file, node):
        return "what Ray is told, which does not count every accelerator"
    if _kept_for(file, node, _DALI):
        if _GPU.search(file.tree.line_text(file.tree.position(file.tree.span(node)[0])[0])):
            return "what DALI, which only knows NVIDIA's devices, is told"
    return None


_OF_CUDNN = re.compile(r"(?:\s*(?:[\w.]*\bcudnn\.\w+[ \t]*=[^\n]*|#[^\n]*)(?:\n|\Z))+\s*\Z")


def _sets_cudnn(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens are settings of cuDNN, which do nothing elsewhere."""
    asked = file.tree.parents[node]
    choice = file.tree.parents.get(asked)
    if (
        not isinstance(asked, cst.Call)
        or not isinstance(choice, cst.If)
        or choice.test is not asked
    ):
        return False
    return choice.orelse is None and _OF_CUDNN.match(file.tree.text(choice.body)) is not None


_BUILD_OR_ARCHITECTURE = re.compile(
    r"\bversion\.(?:cuda|hip)\b|\bget_device_capability\b|\bget_arch_list\b|\bcompute_capability\b"
    r"|\bget_device_properties\([^()]*\)\.(?:major|minor)\b|\ballow_tf32\b"
    # a function of the program's own that asks for it
    r"|\b\w*(?:cuda\w*_capab|capab\w*_cuda|compute_capab|device_capab)\w*\("
)
# What CUDA is asked whether it computes with, in a file that was written for MPS, too.
_NUMBERS = re.compile(r"\bis_bf16_supported\(")
_FOR_MPS = re.compile(r"\bbackends\.mps\b|[\"']mps(?::\d)?[\"']|\bis_(?:torch_)?mps_available\b")


def asks_for_the_build(file: File, node: cst.CSTNode) -> cst.BooleanOperation | None:
    """Return the condition in which a question stands beside one about the build or the architecture.

    ``x.is_cuda and torch.version.hip is None`` asks for NVIDIA's kernels, not for an accelerator.
    """
    found = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            text = file.tree.text(parent)
            if _BUILD_OR_ARCHITECTURE.search(text):
                found = parent
            elif _NUMBERS.search(text) and file.in_code(_FOR_MPS) is not None:
                found = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Lambda, cst.Arg)):
            break
    return found


_OF_NVIDIAS = re.compile(OF_NVIDIAS, re.IGNORECASE)


def asks_for_nvidias(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function asks for the architecture by NVIDIA's own names for it, or by its tool: ``sm80``."""
    home = enclosing_function(file, node)
    if home is None:
        return False
    return _OF_NVIDIAS.search(NOTE.sub("", file.tree.text(home))) is not None


_QUESTION = re.compile(r"\.is_cuda\b|[\"']cuda[\"']|\bcuda\.is_available\b")


def beside_a_kept_question(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition around ``node`` stays, because it also asks for the build or the architecture."""
    whole = asks_for_the_build(file, node)
    return whole is not None and _QUESTION.search(file.tree.text(whole)) is not None


def _kept_for(file: File, node: cst.CSTNode, only: re.Pattern[str]) -> bool:
    """Tell whether an answer is kept in a variable of a function that has such code in it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.Assign, cst.AnnAssign)):
            home = enclosing_function(file, parent)
            return home is not None and only.search(file.tree.text(home)) is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Arg)):
            return False
    return False


_RUNTIMES = rf"(?:{'|'.join(sorted(RUNTIMES))})"
_FROM_RUNTIME = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_RUNTIMES})\b[\w.]*[ \t]+import[ \t]+\(?([^)\n#]+)|import[ \t]+({_RUNTIMES})\b(?:[ \t]+as[ \t]+(\w+))?)",
    re.MULTILINE,
)


# TensorFlow's and PaddlePaddle's: `"/gpu:0"`, `"gpu:0"`.
_OF_ANOTHER = re.compile(r"/?(?:device:)?gpu:\d+\Z", re.IGNORECASE)


def _names_of_another_framework(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question chooses a device by the name that a framework beside torch has for it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp):
            return _OF_ANOTHER.match(string_value(parent.body) or "") is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Arg)):
            return False
    return False


def imports_a_runtime(file: File) -> bool:
    """Tell whether a file works with such a package, whose objects have a ``device`` that is a string."""
    return file.in_code(_FROM_RUNTIME) is not None


@lru_cache(maxsize=4)
def _of_runtimes(source: str) -> frozenset[str]:
    """Return the names that a file imports from such packages."""
    names: set[str] = set()
    for imported in _FROM_RUNTIME.finditer(source):
        given = imported[2] or imported[4] or imported[3]
        names.update(part.split(" as ")[-1].strip() for part in given.split(","))
    return frozenset(names)


def _handed_to_a_runtime(file: File, node: cst.CSTNode) -> str | None:
    """Return the callable of such a package that is told the device which a question chooses, if one is."""
    names = _of_runtimes(file.code) if file.in_code(_FROM_RUNTIME) else frozenset()
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


def _told_to_ray(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer is among the resources that a statement asks Ray for."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BaseSmallStatement):
            return _OF_RAY.search(file.tree.text(parent)) is not None
        if isinstance(parent, cst.BaseSuite):
            return False
    return False


def guards_cuda_only(file: File, node: cst.CSTNode, only: re.Pattern[str] = _CUDA_ONLY) -> bool:
    """Tell whether a test decides about code that only CUDA can run: kernels, CUDA-only packages.

    An ``assert`` guards the function it stands in, an ``if`` that leaves the function what follows;
    ``HAS_TRITON and …`` is one question. An answer that is kept or returned decides about what its
    variable or its function is called for, and a comment on its line may say so.
    """
    tree = file.tree
    if only is _CUDA_ONLY and works_with_nvml(file, node):
        return True

    def found(*spans: Span) -> bool:
        if only in (_CUDA_ONLY, _NO_WORDS) and uses_cudas(file, *spans):
            return True
        texts = [file.unanswered(tree.source[low:high], chosen=True) for low, high in spans]
        if only is _CUDA_ONLY and nvidias and any(nvidias & set(_CALLS.findall(t)) for t in texts):
            return True
        return any(only.search(text) for text in texts)

    nvidias = file.options.tree.architectures if file.options.tree is not None else frozenset()

    below: cst.CSTNode = node
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            if found(tree.span(parent)) or only is _CUDA_ONLY and _beside_a_flag(file, parent):
                return True
        if isinstance(parent, cst.IfExp) and below is parent.test:
            return found(tree.span(parent))
        if isinstance(parent, cst.If):
            if below is parent.test:
                if only is _CUDA_ONLY and _REFUSES.match(file.tree.text(parent.body)):
                    return True
                spans = list(_arms_of(file, parent))
                later = after_early_exit(file, parent)
                if later is not None and only is _CUDA_ONLY and _asks_for_cudnn(file, parent):
                    return True
                if later is not None:
                    spans.append(later)
                if only is _CUDA_ONLY and _said_beside(file, node) or found(*spans):
                    return True
                return only is _CUDA_ONLY and (
                    _in_the_arm_of_one(file, parent)
                    or _prepares_for_a_kernel(file, node, parent)
                    or later is not None
                    and _is_about_a_kernel(file, parent)
                )
            return False
        if isinstance(parent, cst.MatchCase):
            return found(tree.span(parent.body))
        if isinstance(parent, cst.Assert):
            home = enclosing_function(file, parent)
            return home is not None and found(tree.span(home.body))
        if isinstance(parent, cst.BaseSmallStatement):
            if only in (_CUDA_ONLY, _PACKAGES, _RUNTIME, _NO_WORDS) and _opened_by_variable(
                file, parent, found
            ):
                return True
            return only is _CUDA_ONLY and (
                KERNEL_NAME.search(_said_by(file, parent)) is not None
                or _answers_of_kernels(file, parent)
                or _said_beside(file, node)
                or _asked_with_a_kernel(file, parent)
            )
        below = parent
    return False


def uses_cudas(file: File, *spans: Span) -> bool:
    """Tell whether one of these parts of a file uses what only CUDA has."""
    cudas = file.cudas
    return cudas is not None and any(cudas.within(span) for span in spans)


_CALLS = re.compile(r"\b(\w+)\(")
_FLAG = re.compile(
    r"(?<![\w.])_?(?:is|has|IS|HAS)_(?:cuda|CUDA|nvidia|NVIDIA)(?!\w*(?i:avail))\w*\b(?!\s*[.=])"
)


def _beside_a_flag(file: File, condition: cst.CSTNode) -> bool:
    """Tell whether a condition asks for CUDA by a flag, too, that other modules answer: it stays, and so does the whole.

    ``_is_cuda and x.is_cuda``, with ``_is_cuda = is_cuda()``.
    """
    for flag in _FLAG.findall(file.tree.text(condition)):
        made = re.search(rf"^{flag}[ \t]*=[ \t]*([\w.]+)\(\)", file.tree.source, re.MULTILINE)
        if made is not None and ".cuda" not in made[1]:
            return True
        if made is None and file.python is not None and flag in file.python.names[0]:
            return True
    return False


_ABOUT_KERNELS = re.compile(
    r"\btriton\b|\bkernel(?:'s|s)?\b[^.]*\b(?:compil|launch)|\b(?:compil|launch)\w*[^.]*\bkernels?\b",
    re.IGNORECASE,
)


def _is_about_a_kernel(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the docstring of the function that a question opens says that a kernel is compiled or started there."""
    home = enclosing_function(file, node)
    return home is not None and _ABOUT_KERNELS.search(home.get_docstring() or "") is not None


def _prepares_for_a_kernel(file: File, question: cst.CSTNode, choice: cst.If) -> bool:
    """Tell whether an arm changes what is asked about, which then goes to what chooses a kernel by the same question.

    ``if not x.is_cuda: x = log_softmax(x)``, and then ``Loss.apply(x)``.
    """
    if not isinstance(question, cst.Attribute) or not isinstance(question.value, cst.Name):
        return False
    tree, cudas, name = file.python, file.cudas, question.value.value
    at = tree.at(file.tree.span(question)) if tree is not None else None
    if tree is None or at is None or cudas is None or not cudas.choosers:
        return False
    around = list(tree.ancestors(at))
    asked = next((p for p in around if isinstance(p, ast.If)), None)
    home = next((p for p in around if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if asked is None or home is None:
        return False
    changed = {n.id for s in asked.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    if name not in changed or not any(_binds(s, name) for s in asked.body):
        return False
    return any(
        isinstance(node, ast.Call)
        and node.lineno > (asked.end_lineno or 0)
        and _called(node) in cudas.choosers
        and any(_is_named(each, name) for each in node.args)
        for node in ast.walk(home)
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def _called(call: ast.Call) -> str:
    """Return what a call calls, as the choosers of a file are named: ``Loss.apply(x)`` calls ``Loss``."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "apply":
        func = func.value
    return ast.unparse(func)


_WHERE = re.compile(r"(?:_|\.)type\s*[!=]=\s*[\"']cuda[\"']\Z")


def _in_the_arm_of_one(file: File, choice: cst.If) -> bool:
    """Tell whether an ``if`` stands in the arm of one that asks where another tensor lies, and stays."""
    outer = file.tree.parents.get(file.tree.parents[choice])
    if not isinstance(outer, cst.If) or not _asks_where(file, outer):
        return False
    return file.tree.parents[choice] is outer.body and guards_cuda_only(file, outer.test)


def _asks_where(file: File, choice: cst.If) -> bool:
    """Tell whether an ``if`` asks where a tensor lies, and nothing else."""
    test = choice.test
    return isinstance(test, cst.Comparison) and _WHERE.search(file.tree.text(test)) is not None


_CUDNN = re.compile(r"\bcudnn\.(?:enabled|is_available)\b|\bcudnn_\w+")


def _asks_for_cudnn(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the function around a question asks for cuDNN besides."""
    home = enclosing_function(file, node)
    return home is not None and _CUDNN.search(file.tree.text(home)) is not None


def works_with_nvml(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question stands where NVIDIA's management library is worked with.

    That is a function which says so in its name or docstring, or a ``try`` around the library's calls.
    """
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Try) and _NVML.search(file.unanswered(file.tree.text(parent))):
            return True
        if isinstance(parent, cst.FunctionDef):
            said = f"{parent.name.value} {parent.get_docstring() or ''}"
            return _SAYS_NVML.search(said) is not None
    return False


_MESSAGE = r"(?:print|\w*(?:log|logger|logging|warnings)\.(?:debug|info|warn|warning|error|critical|exception))\("
ONLY_TELLS = "opens a message that says CUDA; left as it is: reword it, or it is said of any device"
_TELLS = re.compile(rf"\s*{_MESSAGE}")
_TELLS_OF_CUDA = re.compile(r"cuda|nvidia", re.IGNORECASE)


def only_tells_of_cuda(file: File, node: cst.CSTNode) -> bool:
    """Tell whether all that a question opens is a message that says CUDA: it would say so of another device."""
    asked = file.tree.parents[node] if isinstance(file.tree.parents[node], cst.Call) else node
    choice = file.tree.parents[asked]
    if not isinstance(choice, cst.If) or choice.test is not asked or choice.orelse is not None:
        return False
    if not _TELLS.match(file.tree.text(choice.body)):
        return False
    tree = file.python
    at = tree.at(file.tree.span(asked)) if tree is not None else None
    home = next(tree.ancestors(at), None) if tree is not None and at is not None else None
    if not isinstance(home, ast.If):
        return False
    if not all(_TELLS.match(ast.unparse(statement)) for statement in home.body):
        return False
    inside = [node for statement in home.body for node in ast.walk(statement)]
    if any(isinstance(node, ast.Attribute) and "cuda" in node.attr for node in inside):
        return False  # it tells something of the device, which another one has too
    said = [node.value for node in inside if isinstance(node, ast.Constant)]
    return any(isinstance(text, str) and _TELLS_OF_CUDA.search(text) for text in said)


PINS = "decides about page-locked memory, which torch has for CUDA; left as it is"


def asks_to_pin(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the answer goes to what is called ``pin_memory``: a loader warns where that is no CUDA."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.Arg(keyword=cst.Name(value=name)) if name == "pin_memory":
                return True
            case cst.DictElement(key=key) if below is not key:
                return string_value(key) == "pin_memory"
            case (
                cst.Assign(targets=[cst.AssignTarget(target=target)]) | cst.AnnAssign(target=target)
            ):
                return _PINS.search(file.tree.text(target)) is not None
            case cst.Arg() | cst.Call() | cst.BooleanOperation() | cst.UnaryOperation():
                pass
            case cst.IfExp(test=test):
                if below is not test:
                    return False
            case _:
                return False
        below = parent
    return False


_PINS = re.compile(r"(?:^|[.\"'])pin_memory(?:[\"']\])?\Z")


# What is refused because it lies on CUDA.
_REFUSES = re.compile(r"\s*raise\b[^\n]*(?:\n[^\n]*)?\bcuda\b", re.IGNORECASE)
_LEAVES = re.compile(
    r"(?:return|raise|continue|break)\b"
    r"|(?:(?:sys|os|builtins)\.)?_?(?:exit|quit)\(|(?:pytest|self|unittest)\.(?:skip|skipTest|exit|fail)\("
)
_BODY = re.compile(r"[)\s]*:[ \t]*(?:#.*)?(.*)")


def after_early_exit(file: File, node: cst.If) -> Span | None:
    """Find where the block goes on after an ``if`` whose body leaves it: its test decides about that.

    Read from the lines, since a ``return`` of no concern is not in the tree.
    """
    tree = file.tree
    row, column = tree.position(tree.span(node)[0])
    found = _BODY.match(tree.source, tree.span(node.test)[1])
    if found is None or tree.line_text(row)[: column - 1].strip():
        return None
    here = tree.position(found.start(1))[0] + 1
    last, level = found[1], -1
    while here <= tree.line_count:
        line = tree.line_text(here)
        text = line.lstrip()
        if text and not text.startswith("#"):
            indent = len(line) - len(text)
            if found[1].strip() or indent < column:
                break
            level = indent if level < 0 else level
            last = text if indent == level else last
        here += 1
    if _LEAVES.match(last) is None or here > tree.line_count:
        return None
    end = start = tree.line_start(here)
    while here <= tree.line_count:
        line = tree.line_text(here)
        if line.strip() and len(line) - len(line.lstrip()) < column - 1:
            break
        end = tree.line_start(here) + len(line)
        here += 1
    return start, end


def _said_beside(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a comment on the line, or right above or below it, says that what is asked for is CUDA's alone."""
    line = file.tree.position(file.tree.span(node)[1])[0]
    said = [file.tree.line_text(line)]
    for beside, step in ((line - 1, -1), (line + 1, 1)):
        while 1 <= beside <= file.tree.line_count:
            text = file.tree.line_text(beside).strip()
            if not text.startswith("#"):
                break
            said.append(text)
            beside += step
    return any(_SAID.search(NOTE.sub("", text)) for text in said)


def _said_by(file: File, node: cst.CSTNode) -> str:
    """Return the names of the variables that keep an answer, and of the function that they stand in."""
    if isinstance(node, cst.Assign):
        names = [file.tree.text(target.target) for target in node.targets]
    elif isinstance(node, cst.AnnAssign):
        names = [file.tree.text(node.target)]
    elif isinstance(node, cst.Return):
        names = []
    else:
        return ""
    home = enclosing_function(file, node)
    return " ".join([*names, home.name.value if home is not None else ""])


def _opened_by_variable(
    file: File, node: cst.BaseSmallStatement, found: Callable[..., bool]
) -> bool:
    """Tell whether the variable that keeps an answer opens, in its function, what only CUDA can run."""
    target: cst.CSTNode | None = None
    if isinstance(node, cst.Assign):
        target = node.targets[0].target
    elif isinstance(node, cst.AnnAssign):
        target = node.target
    home = enclosing_function(file, node)
    if home is None or not isinstance(target, cst.Name) or not found(file.tree.span(home)):
        return False
    tree = file.python
    at = tree.at(file.tree.span(target)) if tree is not None else None
    around = tree.ancestors(at) if tree is not None and at is not None else iter(())
    body = next((p for p in around if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    for choice in ast.walk(body) if body is not None else ():
        if not isinstance(choice, (ast.If, ast.IfExp)):
            continue
        asks = choice.test
        if isinstance(asks, ast.UnaryOp) and isinstance(asks.op, ast.Not) and tree is not None:
            arm = choice.orelse if isinstance(choice, ast.If) else [choice.orelse]
            if _is_named(asks.operand, target.value) and found(*map(tree.span, arm)):
                return True
        while isinstance(asks, ast.BoolOp) and isinstance(asks.op, ast.And):
            asks = next((v for v in asks.values if _is_named(v, target.value)), asks.values[0])
        opened = choice.body if isinstance(choice, ast.If) else [choice.body]
        if tree is not None and _is_named(asks, target.value) and found(*map(tree.span, opened)):
            return True
    return False


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


_NVIDIAS_KERNELS = re.compile(r"\b(?:cuDNN|cuBLAS\w*|CUTLASS|cuSPARSE\w*)\b", re.IGNORECASE)


def _answers_of_kernels(file: File, node: cst.BaseSmallStatement) -> bool:
    """Tell whether a question is returned by a function whose docstring says of which of NVIDIA's kernels it answers."""
    home = enclosing_function(file, node) if isinstance(node, cst.Return) else None
    return home is not None and _NVIDIAS_KERNELS.search(home.get_docstring() or "") is not None


def _asked_with_a_kernel(file: File, node: cst.BaseSmallStatement) -> bool:
    """Tell whether what keeps an answer is asked in one condition with a kernel: ``if kernel is None or no_cuda``."""
    target = node.targets[0].target if isinstance(node, cst.Assign) else None
    home = enclosing_function(file, node)
    if home is None or not isinstance(target, cst.Name):
        return False
    asked = re.compile(rf"^[ \t]*(?:el)?if\b[^\n]*\b{target.value}\b[^\n]*", re.MULTILINE)
    return any(KERNEL_NAME.search(found.group()) for found in asked.finditer(file.tree.text(home)))


def _arms_of(file: File, node: cst.If) -> Iterator[Span]:
    """Yield what an ``if`` asks for besides, and what stands in its arms.

    An ``elif`` after it is its other arm where both ask the same: ``if not x.is_cuda … elif x.is_cuda …``.
    """
    yield file.tree.span(node.test)
    yield file.tree.span(node.body)
    if isinstance(node.orelse, cst.Else):
        yield file.tree.span(node.orelse.body)
    elif isinstance(node.orelse, cst.If):
        if _ASKS_IS_CUDA.search(file.tree.text(node.orelse.test)):
            yield from _arms_of(file, node.orelse)


_ASKS_IS_CUDA = re.compile(r"\.is_cuda\b")
