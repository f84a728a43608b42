"""Finds what a file goes on doing with devices beside what would change in it: then its devices would be mixed.

A device by its number, the device of another tensor, a caller's device, what another package has made, a dtype
that nobody sees; and code that would ask torch before it is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.accelerator.flows import Unit

_BY_NUMBER = re.compile(
    r"\.to\(\s*(?:device\s*=\s*)?\d+\s*[,)]|(?<![\w.])device\s*=\s*\d+\b|\.cuda\(\s*(?:device\s*=\s*)?\w"
)
_TO_NAME = re.compile(r"\.to\((?:device\s*=\s*)?(\w+)\s*[,)]")
_OF_ANOTHER = re.compile(
    r"\.to\(\s*(?:device\s*=\s*)?([\w.\[\]]+\.device)\b|(?<![\w.])device\s*=\s*([\w.\[\]]+\.device)\b|(\bself\.device)\b"
)
_OF_A_DTYPE = frozenset("float half bfloat16 int long short bool byte".split())
_KEEPS = re.compile(r"\bself\.device(?:\s*:[^=\n]+)?\s*=(?!=)")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def mixed_devices(
    file: File,
    unit: Unit,
    rest: str,
    imported: Mapping[str, str],
    known: frozenset[str],
    *,
    opened: bool,
) -> str:
    """Return why a unit stays; empty where nothing tells.

    Args:
        rest: the text with nothing in it that changes, every character in its place.
        imported: what each name imports.
        known: the packages that take whatever device torch has, and the tree's own.
        opened: whether a question about CUDA opens the flow, which without CUDA works on the CPU until now.
    """
    python = file.python
    if python is None:
        return ""

    def line(offset: int) -> int:
        return file.tree.position(offset)[0]

    for low, high in unit.spans:
        if found := _BY_NUMBER.search(rest, low, high):
            return f"line {line(found.start())} takes a device by its number"
        for found in _TO_NAME.finditer(rest, low, high):
            if re.search(rf"(?<![\w.]){found[1]}\s*(?::\s*int\s*)?=\s*\d+\b", rest):
                return f"line {line(found.start())} takes a device by its number ({found[1]})"
    moves = [change for change in unit.changes if change.text.startswith("to(")]
    functions = [n for n in ast.walk(python.module) if isinstance(n, _Function)]
    if early := _before_torch(file, unit.changes, functions):
        return f"line {line(early.start)} would ask torch before it is imported"
    lines = {line(change.start) for change in moves}
    for scope in _scopes(python.module, lines):
        start, end = python.span(scope)
        own = rest[start:end]
        kept = isinstance(scope, ast.ClassDef) and _KEEPS.search(own) is not None
        if found := _OF_ANOTHER.search(own):
            device = found[1] or found[2] or found[3]
            if not (kept and device == "self.device") and (
                device == "self.device" or isinstance(scope, _Function)
            ):
                return f"line {line(start + found.start())} works on {device}, which may be another device"
        if isinstance(scope, _Function) and _is_told(scope):
            return f"{scope.name} is told a device by its caller"
    return _of_moved(python.module, lines, imported, known, opened)


def _scopes(module: ast.Module, lines: set[int]) -> Iterator[ast.ClassDef | _Function]:
    """Yield the functions and classes that hold one of these lines."""
    for node in ast.walk(module):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in lines):
                yield node


def _is_told(function: _Function) -> bool:
    """Tell whether a parameter of a function is a device."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return any(parameter.arg in ("device", "dev") for parameter in given)


def _before_torch(
    file: File, changes: Iterable[Change], functions: list[_Function]
) -> Change | None:
    """Return a change that would use torch where it is not imported yet."""
    assert file.python is not None
    imports = sorted(
        node.lineno
        for node in file.python.imports
        if any(
            (alias.name if isinstance(node, ast.Import) else node.module or "").partition(".")[0]
            == "torch"
            for alias in node.names
        )
    )

    def home(line: int) -> _Function | None:
        around = [f for f in functions if f.lineno <= line <= (f.end_lineno or f.lineno)]
        return max(around, key=lambda f: f.lineno, default=None)

    homes = [(home(line), line) for line in imports]
    for change in changes:
        if ".accelerator." not in change.text:
            continue
        at = file.tree.position(change.start)[0]
        mine = home(at)
        near = [line for where, line in homes if where is mine]
        if near and near[0] >= at:
            return change
    return None


def _of_moved(
    module: ast.Module,
    lines: set[int],
    imported: Mapping[str, str],
    known: frozenset[str],
    opened: bool,
) -> str:
    """Return why what is moved may not be at home on every device: its maker is another package, its dtype is not seen."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr != "cuda" or (node.func.end_lineno or 0) not in lines:
            continue
        made: ast.expr = node.func.value
        typed = False
        while isinstance(made, ast.Call):
            func = made.func
            typed = isinstance(func, ast.Attribute) and func.attr in _OF_A_DTYPE
            if typed or _unknown_dtype(made) or not isinstance(func, ast.Attribute):
                break
            if not isinstance(func.value, ast.Call):
                break
            made = func.value
        if typed or not isinstance(made, ast.Call):
            continue
        if opened and _unknown_dtype(made):
            return f"line {node.lineno} moves a dtype that is not seen here, which may be double"
        root = made.func
        while isinstance(root, ast.Attribute):
            root = root.value
        full = imported.get(root.id, "") if isinstance(root, ast.Name) else ""
        package = full.partition(".")[0]
        if package and package not in known:
            return f"line {node.lineno} moves what {full} makes, which may be for CUDA alone"
    return ""


def _unknown_dtype(call: ast.Call) -> bool:
    """Tell whether a tensor has the dtype of a variable, or of an array."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "from_numpy":
        return True
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "dtype" and isinstance(value, (ast.Name, ast.Attribute)):
            root: ast.expr = value
            while isinstance(root, ast.Attribute):
                root = root.value
            if not (isinstance(root, ast.Name) and root.id in ("torch", "th")):
                return True
    return False
