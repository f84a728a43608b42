"""Names of torch objects in strings: mock targets, ``getattr``, quoted annotations."""

from __future__ import annotations

import ast
import re
import warnings

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import children, dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import TENSOR_TYPE, Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.kept_names import asks_for_a_public_name

STRINGS = rule(
    "string-reference",
    "Names in strings",
    "note",
    """
    Strings are touched in four places only, where a string is a reference:

    - the target of a patch: `mock.patch("torch.cuda.is_available")` becomes
      `mock.patch("tdev.cuda.is_available")`, since that is what the migrated code calls; so does a
      target inside another module, `"pkg.mod.torch.cuda.is_available"`, which is the same object;
    - `mock.patch.object(torch, "load")`, `getattr(torch, "cuda")` and `setattr`: the object changes,
      not the string. `hasattr` asks which torch this is, and goes on asking torch. In the alias style
      `patch.object(torch, "zeros")` becomes `patch("torch.zeros")`, and `monkeypatch.setattr` likewise;
    - names of modules that a test hides: `patch.dict("sys.modules", {"torch.cuda.amp": None})`;
    - quoted annotations: `def f(s: "torch.cuda.Stream")`.

    Patches are those of `mock.patch` (also `patch`, `mocker.patch`, `.object`, `.multiple` and
    `.dict`) and of `monkeypatch.setattr` and `delattr`. A target is tdev's where a patch of torch
    would not reach the migrated code:

    - names that are tdev's own wherever they are used: `torch.cuda.*`, `torch.load`,
      `torch.distributed.init_process_group`; and autocast, which tdev reads from torch once;
    - in the alias style, what else the code takes from tdev's modules (`"torch.sigmoid"`): tdev
      reads such a name from torch once, and sets it in both when it is set in tdev.

    `mock.patch("torch.zeros")` stays: tdev's function of that name calls torch's at every call, so
    that a patch of torch reaches both. And what a program puts into `torch.cuda` or `torch.version` while it runs
    stands in tdev's as well, off CUDA as on it, where they are one: by whatever name it gets there.

    Reported are a module imported by its name, `importlib.import_module("torch")` and
    `__import__("torch")`, whose names no rule can follow, and a condition that pytest reads from a string,
    `skipif("not torch.cuda.is_available()")`. So are other strings that are Python and call `torch.cuda`
    (`"torch.cuda.is_available()"` in a configuration), and a module that is looked up by a device's name
    (`getattr(torch, device.type)`), and a handler that looks for the words of CUDA's allocator
    (`"CUDA out of memory" in str(error)`): the sim and MLX say the same, MPS says its own.

    Every other string is prose, a path or a payload and is left alone.
    """,
)

_PATCHERS = re.compile(r"(?:\w+\.)*?(?:\w*mock(?:er)?\.)?(patch(?:\.object|\.dict|\.multiple)?)\Z")
_MONKEY = re.compile(r"(?:\w+\.)*(?:monkeypatch|mp)\.(setattr|delattr|setitem|delitem)\Z")
TARGET = re.compile(r"((?:\w+\.)*?)(torch(?:\.\w+)+)\Z")
_ASKS = re.compile(r"\bcuda\.(?:is_available|device_count)\(")
_HIDDEN = re.compile(r"torch\.(?:cuda|amp)(?:\.\w+)*\Z")


def is_a_patch(call: cst.Call) -> bool:
    """Tell whether a call puts something in the place of what its first arguments name."""
    name = dotted(call.func)
    if name is None or not call.args:
        return False
    return _PATCHERS.match(name) is not None or _MONKEY.match(name) is not None


def strings(file: File) -> None:
    for node in file.tree.of(cst.Call):
        name = dotted(node.func)
        if name is None or not node.args or file.kept(node):
            continue
        found = _PATCHERS.match(name) or _MONKEY.match(name)
        how = found[1] if found is not None else name
        if how in ("patch.dict", "setitem", "delitem"):
            _hidden_modules(file, node)
        if found is not None and string_value(node.args[0].value) is not None:
            if not (file.options.test and how == "patch.multiple"):
                _patch(file, node.args[0].value)
        elif how in ("patch.object", "patch.multiple", "setattr", "delattr"):
            _patched_object(file, node)
        elif name in ("getattr", "hasattr") and len(node.args) >= 2:
            _getattr(file, node)
        elif name.rpartition(".")[2] in ("import_module", "__import__"):
            _imported_by_name(file, node)
        elif name.rpartition(".")[2] in ("skipif", "xfail"):
            _condition(file, node)
    for literal in file.tree.of(cst.SimpleString) if _may_hold_code(file.tree.source) else ():
        if _is_evaluated(file, literal):
            message = (
                "a string of code asks torch about CUDA: what it is given to goes on asking torch"
            )
            file.find(STRINGS, literal, message)
    for annotation in file.tree.of(cst.Annotation):
        for literal in _literals(annotation.annotation):
            if not file.kept(literal):
                _annotation(file, literal)


_IN_CODE = re.compile(r"[\"'][^\"'\n]*\btorch\.(?:cuda\.\w+|device)\(")
_TOLD = re.compile(
    r"\w*(?:print|skip\w*|xfail|warn\w*|debug|info|error|exception|log|match|fail|raises)\Z|\w*(?:Error|Warning|Exception)\Z"
)


def _may_hold_code(source: str) -> bool:
    """Tell whether a string of a text may be code that asks torch: the pattern alone is slow where none is."""
    said = "torch.cuda." in source or "torch.device(" in source
    return said and _IN_CODE.search(source) is not None


def _is_evaluated(file: File, literal: cst.SimpleString) -> bool:
    """Tell whether a string is an expression, or statements, of Python that call ``torch.cuda``'s functions."""
    text = (string_value(literal) or "").strip().lstrip("$")
    if "torch.cuda." not in text or len(text) > 2000 or file.kept(literal):
        return False
    for parent in file.tree.ancestors(literal):
        if isinstance(parent, cst.Call):
            func = parent.func.attr if isinstance(parent.func, cst.Attribute) else parent.func
            if isinstance(func, cst.Name) and _TOLD.match(func.value):
                return False
        if isinstance(parent, (cst.Raise, cst.Assert, cst.Annotation)):
            return False
        if isinstance(parent, cst.BaseSmallStatement):
            if isinstance(parent, cst.Expr) and parent.value is literal:
                return False
            break
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func).startswith("torch.cuda.")
        for node in ast.walk(code)
    )


def _patch(file: File, target: cst.BaseExpression) -> None:
    found = TARGET.match(string_value(target) or "")
    if found is None or not isinstance(target, cst.SimpleString):
        return
    inside, name = found.groups()
    start = file.tree.span(target)[0] + len(target.prefix) + len(target.quote)
    if file.options.style == "accelerator":
        generic = file.names.accelerator.get(name)
        if not _in_cuda(name):
            return
        if inside:
            file.find(STRINGS, target, f"patches {inside}{name}; check what that module calls")
        elif generic is None:
            file.find(STRINGS, target, f"{name} is patched; it has no generic name")
        else:
            file.replace(STRINGS, start, start + len(name), generic.name)
    elif name.rpartition(".")[2].startswith("_"):
        return  # tdev has no private names: what it calls of torch's is patched where it is
    elif file.options.style == "explicit" and name in _ASKED and _beside_others(file, target):
        file.find(STRINGS, target, f"{name} {PATCHED}", "note")
    elif reached_through_tdev(file, name):
        if not inside or file.options.style == "explicit":
            file.replace(STRINGS, start, start + len(inside + "torch"), "tdev")


_ASKED = frozenset({"torch.cuda.is_available", "torch.cuda.device_count"})
_OTHERS = re.compile(
    r"[\"']torch\.(?:backends\.)?(?:mps|xpu|mtia)\."
    r"|\btorch\.(?:backends\.)?(?:mps|xpu|mtia),\s*[\"'](?:is_available|device_count)\b"
)


PATCHED = "is patched beside other accelerators; what asks for them goes on asking torch"


def is_patched_beside_others(file: File, found: Reference) -> bool:
    """Tell whether a question is patched by its module, and another accelerator's, too: ``setattr(torch.cuda, "is_available", …)``."""
    if file.options.style != "explicit" or found.name != "torch.cuda":
        return False
    call = file.tree.parents[file.tree.parents[found.node]]
    if not isinstance(call, cst.Call) or len(call.args) < 2:
        return False
    name = dotted(call.func) or ""
    if not (_PATCHERS.match(name) or _MONKEY.match(name)) or call.args[0].value is not found.node:
        return False
    asked = f"{found.name}.{string_value(call.args[1].value)}" in _ASKED
    return asked and _beside_others(file, found.node)


def _beside_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the test around ``node`` patches another accelerator's answer, too."""
    home = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.FunctionDef, cst.With)):
            home = parent
            if isinstance(parent, cst.FunctionDef):
                break
    if home is None:
        return False
    start, end = file.tree.span(home)
    if isinstance(home, cst.FunctionDef) and home.decorators:
        start = min(start, file.tree.span(home.decorators[0])[0])
    return _OTHERS.search(file.tree.source, start, end) is not None


def _in_cuda(name: str) -> bool:
    return name == "torch.cuda" or name.startswith("torch.cuda.")


def reached_through_tdev(file: File, name: str) -> bool:
    """Tell whether migrated code takes a name from tdev in such a way that a patch of torch misses it."""
    names = file.names
    if file.options.test and name.startswith(("torch.cuda.", "torch.version.")):
        return False  # what is put there stands in tdev's as well, whoever puts it there
    if _in_cuda(name) or name in names.routed:
        return True
    if name in names.device_params:
        # tdev's function looks torch's up at each call; autocast is torch's own class.
        return name.endswith(".autocast")
    if any(routed.rpartition(".")[0] == name for routed in names.routed):
        return True  # a module with such names in it
    home = name.rpartition(".")[0] + "."
    return file.options.style == "alias" and any(
        known.startswith(home) for known in (*names.routed, *names.device_params)
    )


def _patched_object(file: File, node: cst.Call) -> None:
    """``patch.object(torch, "load")``, ``setattr(torch, "load", …)``, ``patch.multiple(torch, …)``."""
    found = file.resolver.reference(node.args[0].value)
    if found is None or found.package != "torch" or file.options.style == "accelerator":
        return
    if is_patched_beside_others(file, found):
        return  # reported where its name is
    given = [string_value(node.args[1].value)] if len(node.args) > 1 else []
    if (dotted(node.func) or "").endswith(".multiple"):
        given += [arg.keyword.value for arg in node.args[1:] if arg.keyword is not None]
    if any(reached_through_tdev(file, f"{found.name}.{text}") for text in given if text):
        file.use(STRINGS, found)
    elif file.options.style != "alias" or file.options.test:
        return
    elif file.tree.text(node.args[0].value) == found.name:
        _by_its_name(file, node, found.name)


def _by_its_name(file: File, node: cst.Call, where: str) -> None:
    """``monkeypatch.setattr(torch, "randn", …)`` of a function that tdev looks up in torch: ``"torch.randn"``.

    Once ``torch`` is tdev here, the object would be tdev's, and code that goes on calling torch would not see the patch.
    """
    called = file.tree.text(node.func)
    end = {"patch.object": ".object", "setattr": "", "delattr": ""}
    how = next((how for how in end if called == how or called.endswith(f".{how}")), None)
    if how is None or len(node.args) < 2 or any(arg.keyword is not None for arg in node.args[:2]):
        return
    literal = node.args[1].value
    name = string_value(literal)
    if (
        not isinstance(literal, cst.SimpleString)
        or f"{where}.{name}" not in file.names.device_params
    ):
        return
    if how == "patch.object":
        file.replace(
            STRINGS, file.tree.span(node.func)[1] - len(end[how]), file.tree.span(node.func)[1], ""
        )
    elif called == how:
        return  # Python's own, which takes no path
    start, stop = file.tree.span(node.args[0])[0], file.tree.span(literal)[1]
    file.replace(STRINGS, start, stop, f"{literal.quote}{where}.{name}{literal.quote}", _BOTH)


_BOTH = "tdev's function of that name calls torch's, so that the patch reaches both"


def _hidden_modules(file: File, node: cst.Call) -> None:
    """``patch.dict("sys.modules", {"torch.cuda": None})``: what makes an import of it fail."""
    where = node.args[0].value
    if file.options.style == "accelerator" or "sys.modules" not in (
        dotted(where),
        string_value(where),
    ):
        return
    for arg in node.args[1:2]:
        keys: list[cst.BaseExpression] = [arg.value]
        if isinstance(arg.value, cst.Dict):
            keys = [e.key for e in arg.value.elements if isinstance(e, cst.DictElement)]
        for key in keys:
            if isinstance(key, cst.SimpleString) and _HIDDEN.match(string_value(key) or ""):
                start = file.tree.span(key)[0] + len(key.prefix) + len(key.quote)
                file.replace(STRINGS, start, start + len("torch"), "tdev")


# What a device's type is called, and no name of a dtype or a function.
_BY_DEVICE = re.compile(r"(?:\A|[._])(?:device|dev|device_type|accelerator)(?:\.type)?\Z")


def _getattr(file: File, node: cst.Call) -> None:
    found = file.resolver.reference(node.args[0].value)
    text = string_value(node.args[1].value)
    if found is None or found.package != "torch":
        return
    if text is None:
        by = file.tree.text(node.args[1].value)
        if found.name == "torch" and _BY_DEVICE.search(by):
            message = (
                f"torch's module is looked up by {by}: what is reached through it stays as it is"
            )
            file.find(STRINGS, node, message)
        return
    name = f"{found.name}.{text}"
    if name in file.names.routed:
        if file.options.style != "accelerator":
            if asks_for_a_public_name(file, found):
                return
            file.use(STRINGS, found)
        elif _in_cuda(name):
            file.find(STRINGS, node, f"{name} by name; it has no generic spelling")


def _imported_by_name(file: File, node: cst.Call) -> None:
    given = string_value(node.args[0].value) or ""
    if given == "torch" or given.startswith("torch.") and not given.startswith("torch._"):
        message = f"{given} is imported by its name: what is reached through it stays as it is"
        file.find(STRINGS, node, message, "warning")


def _condition(file: File, node: cst.Call) -> None:
    """``pytest.mark.skipif("not torch.cuda.is_available()")``: pytest evaluates the string."""
    given = node.args[0]
    text = string_value(given.value) or ""
    if given.keyword is None or given.keyword.value == "condition":
        if _ASKS.search(text):
            file.find(
                STRINGS,
                given.value,
                "a condition in a string asks for CUDA; write it as code",
                "warning",
            )


def _literals(node: cst.CSTNode) -> list[cst.SimpleString]:
    if isinstance(node, cst.SimpleString):
        return [node]
    if isinstance(node, cst.Subscript):
        name = dotted(node.value) or ""
        if name.split(".")[-1] in ("Literal", "Annotated"):
            return []
    return [s for child in children(node) for s in _literals(child)]


def _annotation(file: File, literal: cst.SimpleString) -> None:
    if file.options.style != "explicit" or "cuda" not in literal.value:
        return
    for found in re.finditer(r"(?<![\w.])(\w+)((?:\.\w+)+)", literal.raw_value):
        imported = file.resolver.imported(file.scopes.of(literal), found[1])
        if imported is None or imported[0] != "torch" or not found[2].startswith(".cuda."):
            continue
        if TENSOR_TYPE.match(f"torch{found[2]}"):
            continue
        start = file.tree.span(literal)[0] + len(literal.prefix) + len(literal.quote)
        start += found.start(1)
        file.want(imported[1])
        file.replace(STRINGS, start, start + len(found[1]), file.tdev)
