"""Finds what a file goes on doing with devices beside what would change in it: then its devices would be mixed.

A device by its number, the device of another tensor, a caller's device, what another package has made, a dtype
that nobody sees; and code that would ask torch before it is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.python.tree import PythonTree
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
_Scope = ast.ClassDef | _Function


class MixedDevices:
    """A reading, by line, of what a file does with devices beside its changes; each unit is held against it.

    Args:
        rest: the text with nothing in it that changes, every character in its place.
        imported: what each name imports.
        known: the packages that take whatever device torch has, and the tree's own.
    """

    def __init__(
        self,
        file: File,
        python: PythonTree,
        rest: str,
        imported: Mapping[str, str],
        known: frozenset[str],
    ) -> None:
        self._file = file
        self._python = python
        self._rest = rest
        self._imported = imported
        self._known = known
        self._scopes: dict[int, list[_Scope]] = {}
        """The functions and classes around each line, outer ones first."""
        self._moves: dict[int, list[ast.Call]] = {}
        """Calls of ``.cuda``, by the line on which that stands."""
        for node in ast.walk(python.module):
            if isinstance(node, _Scope):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self._scopes.setdefault(line, []).append(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "cuda":
                    self._moves.setdefault(node.func.end_lineno or 0, []).append(node)
        self._imports: dict[_Function | None, int] = {}
        """The first line on which a function, or the module, imports torch."""
        for line in sorted(node.lineno for node in python.imports if _is_torchs(node)):
            self._imports.setdefault(self._function(line), line)

    def why(self, unit: Unit, *, opened: bool) -> str:
        """Return why a unit stays; empty where nothing tells.

        Args:
            opened: whether a question about CUDA opens the flow, which without CUDA works on the CPU until now.
        """
        return (
            self._by_number(unit)
            or self._before_torch(unit.changes)
            or self._of_another(unit)
            or self._of_moved(unit, opened)
        )

    def _by_number(self, unit: Unit) -> str:
        for low, high in unit.spans:
            if found := _BY_NUMBER.search(self._rest, low, high):
                return f"line {self._line(found.start())} takes a device by its number"
            for found in _TO_NAME.finditer(self._rest, low, high):
                if re.search(rf"(?<![\w.]){found[1]}\s*(?::\s*int\s*)?=\s*\d+\b", self._rest):
                    return f"line {self._line(found.start())} takes a device by its number ({found[1]})"
        return ""

    def _before_torch(self, changes: Iterable[Change]) -> str:
        """Return why a change would use torch where it is not imported yet."""
        for change in changes:
            line = self._line(change.start)
            first = self._imports.get(self._function(line))
            if ".accelerator." in change.text and first is not None and first >= line:
                return f"line {line} would ask torch before it is imported"
        return ""

    def _of_another(self, unit: Unit) -> str:
        """Return what works, around a move, on a device that comes from elsewhere."""
        around = (s for line in self._moved(unit) for s in self._scopes.get(line, ()))
        for scope in sorted(dict.fromkeys(around), key=lambda scope: scope.lineno):
            start, end = self._python.span(scope)
            own = self._rest[start:end]
            kept = isinstance(scope, ast.ClassDef) and _KEEPS.search(own) is not None
            if found := _OF_ANOTHER.search(own):
                device = found[1] or found[2] or found[3]
                if not (kept and device == "self.device") and (
                    device == "self.device" or isinstance(scope, _Function)
                ):
                    line = self._line(start + found.start())
                    return f"line {line} works on {device}, which may be another device"
            if isinstance(scope, _Function) and _is_told(scope):
                return f"{scope.name} is told a device by its caller"
        return ""

    def _of_moved(self, unit: Unit, opened: bool) -> str:
        """Return why what is moved may not be at home on every device: its maker is another package, its dtype is not seen."""
        for node in (node for line in self._moved(unit) for node in self._moves.get(line, ())):
            made = _maker(node)
            if made is None:
                continue
            if opened and _unknown_dtype(made):
                return (
                    f"line {node.lineno} moves a dtype that is not seen here, which may be double"
                )
            root = made.func
            while isinstance(root, ast.Attribute):
                root = root.value
            full = self._imported.get(root.id, "") if isinstance(root, ast.Name) else ""
            package = full.partition(".")[0]
            if package and package not in self._known:
                return f"line {node.lineno} moves what {full} makes, which may be for CUDA alone"
        return ""

    def _moved(self, unit: Unit) -> list[int]:
        """Return the lines on which a unit's changes move something."""
        return sorted({self._line(c.start) for c in unit.changes if c.text.startswith("to(")})

    def _line(self, offset: int) -> int:
        return self._file.tree.position(offset)[0]

    def _function(self, line: int) -> _Function | None:
        """Return the innermost function around a line."""
        around = [scope for scope in self._scopes.get(line, ()) if isinstance(scope, _Function)]
        return max(around, key=lambda function: function.lineno, default=None)


def _is_torchs(node: ast.Import | ast.ImportFrom) -> bool:
    names = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [node.module or ""]
    )
    return any(name.partition(".")[0] == "torch" for name in names)


def _maker(move: ast.Call) -> ast.Call | None:
    """Return the call that makes what ``.cuda()`` moves; None where there is none, or its dtype is told after it."""
    assert isinstance(move.func, ast.Attribute)
    made: ast.expr = move.func.value
    while isinstance(made, ast.Call):
        func = made.func
        if isinstance(func, ast.Attribute) and func.attr in _OF_A_DTYPE:
            return None
        if _unknown_dtype(made) or not isinstance(func, ast.Attribute):
            break
        if not isinstance(func.value, ast.Call):
            break
        made = func.value
    return made if isinstance(made, ast.Call) else None


def _is_told(function: _Function) -> bool:
    """Tell whether a parameter of a function is a device."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return any(parameter.arg in ("device", "dev") for parameter in given)


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
