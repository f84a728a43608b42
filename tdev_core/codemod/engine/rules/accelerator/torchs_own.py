"""Replaces functions and classes of packages for CUDA by torch's own, where a call shows that both mean the same.

The uses of an import change together with it, or not at all: one use that stays needs the package. Of a call that stays
what torch has for it is reported, with the call's own arguments, and why it was not written.

The file's later passes see the package as answered for; :mod:`.whole` may take all of it back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.accelerator import torchs_calls
from tdev_core.codemod.engine.rules.accelerator.layout import usual_length
from tdev_core.codemod.engine.rules.accelerator.torchs_amp import AMP
from tdev_core.codemod.engine.rules.accelerator.torchs_calls import Call, Torch
from tdev_core.codemod.engine.rules.accelerator.torchs_parallel import PARALLEL
from tdev_core.codemod.engine.rules.stand_ins import STAND_IN

CALLS = {**torchs_calls.CALLS, **PARALLEL, **AMP}
_PACKAGES = sorted({name.partition(".")[0] for name in CALLS})
_CATCHES = (
    ast.Try,
    ast.If,
    ast.With,
    ast.AsyncWith,
    *([ast.TryStar] if hasattr(ast, "TryStar") else []),
)


@dataclass
class _Import:
    """One import of a package, and what becomes of the uses of what it binds."""

    node: ast.Import | ast.ImportFrom
    package: str
    edits: dict[Span, str] = field(default_factory=dict)
    notes: list[tuple[int, str]] = field(default_factory=list)
    """What is said whether the call changes or not."""
    instead: list[tuple[int, str]] = field(default_factory=list)
    """What is said of the calls where they stay."""
    stays: bool = False


def plan_torchs_own(file: File) -> list[_Import]:
    """Plan the edits of the imports all of whose uses have an equivalent, and return all that were looked at."""
    if file.options.style != "accelerator" or file.options.program or file.pieces:
        return []
    if not any(package in file.tree.source for package in _PACKAGES) or file.python is None:
        return []
    reading = _Reading(file, file.python)
    found = list(reading.imports())
    whole = {
        package: all(not one.stays for one in found if one.package == package)
        for package in _PACKAGES
    }
    planned = [one for one in found if whole[one.package]]
    if reading.lacks_torch(planned):
        planned = []
    names = frozenset(one.package for one in planned)
    file.options = replace(file.options, answered=file.options.answered | names)
    for one in planned:
        file.replaced.add(reading.span(one.node))
        for span, text in {**one.edits, **reading.without(one.node, planned)}.items():
            file.replace(STAND_IN, *span, text, why=f"torch has the same as {one.package}")
    return found


def report_torchs_own(file: File, found: list[_Import]) -> None:
    """Report what torch has instead for the calls that stay, and what differs for those that do not."""
    for one in found:
        written = any(span in file.changes for span in one.edits)
        for at, message in [*one.notes, *([] if written else one.instead)]:
            file.find_at(STAND_IN, at, message)


class _Reading:
    """A file's imports of these packages, the uses of the names that they bind, and what torch is called there."""

    def __init__(self, file: File, python: PythonTree) -> None:
        self._file = file
        self._python = python
        self._bound: dict[str, int] = {}
        self._uses: dict[str, list[ast.Name]] = {}
        self._said: set[str] = set()
        for node in ast.walk(python.module):
            for name in _binds(node):
                self._bound[name] = self._bound.get(name, 0) + 1
            if isinstance(node, ast.Name):
                self._uses.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._said.add(node.value)
        self._torch = self._spellings()

    def span(self, node: ast.stmt | ast.expr) -> Span:
        return self._python.span(node)

    def imports(self) -> Iterator[_Import]:
        for node in self._python.imports:
            if isinstance(node, ast.ImportFrom):
                base = "" if node.level else (node.module or "")
            else:
                base = next((a.name for a in node.names if _package(a.name) in _PACKAGES), "")
            if _package(base) in _PACKAGES and not self._kept(node):
                yield self._read(node, base)

    def _read(self, node: ast.Import | ast.ImportFrom, base: str) -> _Import:
        one = _Import(node, _package(base))
        # What the program can do without, and what shares its line, stays as it is.
        one.stays = (
            any(isinstance(p, _CATCHES) for p in self._python.ancestors(node))
            or self._line(node).strip() not in ("", "\\")
            or (isinstance(node, ast.Import) and len(node.names) > 1)
        )
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                bound, full = alias.asname or alias.name, f"{base}.{alias.name}"
            else:
                bound = alias.asname or _package(alias.name)
                full = alias.name if alias.asname else _package(alias.name)
            uses = [use for use in self._uses.get(bound, ()) if isinstance(use.ctx, ast.Load)]
            taken = self._file.options.tree is not None and bound in self._file.options.tree.taken
            if self._bound.get(bound) != 1 or bound in self._said or not uses or taken:
                one.stays = True
            for use in uses if self._bound.get(bound) == 1 else ():
                self._use(one, use, full)
        return one

    def _line(self, node: ast.stmt) -> str:
        """Return what stands on the lines of a statement beside it, comments aside."""
        start, end = self.span(node)
        source = self._file.tree.source
        low = source.rfind("\n", 0, start) + 1
        high = source.find("\n", end)
        return (
            source[low:start] + source[end : high if high >= 0 else len(source)].partition("#")[0]
        )

    def _use(self, one: _Import, use: ast.Name, full: str) -> None:
        """Plan what becomes of one use, or see that the import stays."""
        expression: ast.expr = use
        for parent in self._python.ancestors(use):
            if isinstance(parent, ast.Attribute) and parent.value is expression:
                expression, full = parent, f"{full}.{parent.attr}"
            else:
                break
        full = full.replace("flash_attn.flash_attn_interface.", "flash_attn.")
        parent = next(self._python.ancestors(expression))
        if full not in CALLS or self._kept(expression):
            one.stays = True
            return
        if not isinstance(parent, ast.Call) or parent.func is not expression:
            if (plain := CALLS[full].reference(self._torch, self._asks_for_class(parent))) is None:
                one.stays = True
            else:
                one.edits[self.span(expression)] = plain
            return
        call = Call(self._python, parent, self._torch, self._file.tree.source)
        written = CALLS[full].written(call)
        start, end = self.span(parent)
        name = full.rpartition(".")[2]
        if written.text and not written.why:
            one.edits[start, end] = self._laid_out(start, end, written.text, written.parts)
            if written.note and all(written.note not in said for _, said in one.notes):
                one.notes.append((start, f"{name}: {written.note}"))
        else:
            one.stays = True
        if written.text:
            why = f", {written.why}" if written.why else ""
            one.instead.append((start, f"torch has for {name} `{written.text}`{why}"))
        else:
            one.instead.append((start, f"{name} stays for {written.why}"))
        one.instead.extend(written.beside)

    @staticmethod
    def _asks_for_class(parent: ast.AST) -> bool:
        """Tell whether a name stands as the class in ``isinstance(x, …)``."""
        return (
            isinstance(parent, ast.Call)
            and isinstance(parent.func, ast.Name)
            and parent.func.id in ("isinstance", "issubclass")
        )

    def _kept(self, node: ast.stmt | ast.expr) -> bool:
        return self._file.kept_lines(node.lineno, node.end_lineno or node.lineno)

    # -- text ----------------------------------------------------------------------------------

    def _laid_out(self, start: int, end: int, text: str, parts: tuple[str, list[str], str]) -> str:
        """Write a call on its line where that has room, else an argument a line."""
        source = self._file.tree.source
        low = source.rfind("\n", 0, start) + 1
        high = source.find("\n", end)
        tail = source[end : high if high >= 0 else len(source)]
        limit = self._file.options.line_length or usual_length(source)
        line = source[low:start]
        if "\n" not in text and len(line + text + tail) <= limit:
            return text
        indent = line[: len(line) - len(line.lstrip())]
        newline = self._file.tree.newline
        head, arguments, rest = parts
        joined = f"{indent}    {', '.join(arguments)}"
        if "\n" not in joined and len(joined) <= limit:
            inside = [joined]
        else:
            inside = [f"{indent}    {argument}," for argument in arguments]
        return newline.join([f"{head}(", *inside, f"{indent}){rest}"])

    def without(self, node: ast.Import | ast.ImportFrom, planned: list[_Import]) -> dict[Span, str]:
        """Return the edit that takes an import out, or has it import torch where nothing does."""
        source, (start, end) = self._file.tree.source, self.span(node)
        if self._torch.needed and node is self._first(planned):
            return {(start, end): "import torch"}
        low, high = source.rfind("\n", 0, start) + 1, source.find("\n", end) + 1
        if high == 0:
            high = len(source)
        before, after = source[:low], source[high:]
        if re.search(r"\n[ \t]*\r?\n\Z", before) and re.match(r"[ \t]*\r?\n", after):
            low -= len(re.search(r"[ \t]*\r?\n\Z", before).group())  # type: ignore[union-attr]  # it just matched
        return {(low, high): ""}

    def lacks_torch(self, planned: list[_Import]) -> bool:
        """Tell whether torch would have to be imported, and nothing that goes stands where that could be done."""
        return self._torch.needed and self._first(planned) is None

    def _first(self, planned: list[_Import]) -> ast.stmt | None:
        return next((one.node for one in planned if one.node in self._python.module.body), None)

    def _spellings(self) -> Torch:
        names: dict[str, str] = {}
        for statement in self._python.module.body:
            if isinstance(statement, ast.Import):
                pairs = [
                    (a.asname or _package(a.name), a.name if a.asname else _package(a.name))
                    for a in statement.names
                ]
            elif isinstance(statement, ast.ImportFrom) and not statement.level:
                pairs = [
                    (a.asname or a.name, f"{statement.module}.{a.name}") for a in statement.names
                ]
            else:
                continue
            for bound, full in pairs:
                if _package(full) == "torch" and self._only_this(bound):
                    names.setdefault(full, bound)
        return Torch(names, "torch" not in self._bound)

    def _only_this(self, bound: str) -> bool:
        """Tell whether a name is bound by imports alone, of the same thing: ``import torch`` and ``import torch.nn``."""
        imports = sum(
            bound
            == (
                alias.asname
                or (_package(alias.name) if isinstance(node, ast.Import) else alias.name)
            )
            for node in self._python.imports
            for alias in node.names
        )
        return self._bound.get(bound, 0) == imports


def _package(name: str) -> str:
    return name.partition(".")[0]


def _binds(node: ast.AST) -> list[str]:
    """Return the names that a node itself binds, or declares to be bound elsewhere."""
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return [node.id]
        case ast.arg():
            return [node.arg]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Import():
            return [alias.asname or _package(alias.name) for alias in node.names]
        case ast.ImportFrom():
            return [alias.asname or alias.name for alias in node.names]
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return [node.name] if node.name else []
        case ast.MatchMapping():
            return [node.rest] if node.rest else []
        case ast.Global() | ast.Nonlocal():
            return node.names
        case _:
            return []
