"""Follows what the modules of a tree use of each other, for ``--target accelerator``: a device flow does not part.

A function or class that would change stays where it uses one that goes on naming CUDA, or computes in double
precision, however many modules lie between; and where one that goes on naming CUDA uses it. Modules
are parsed only where that leads to them. A module is found by the end of its dotted name, since a folder of
examples is imported from wherever it is run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from tdev_core.codemod.engine.staying import (
    DOUBLE,
    imports_torch,
    may_change,
    names_cuda,
    takes_to_cuda,
)
from tdev_core.codemod.engine.survey import is_for_tests

OUTSIDE = "what stands outside functions"
"""The statements of a module that are in none of its functions and classes, as one."""
_DEEP = 6
"""Modules that hand a name on, one to the next: ``from .a import name`` in one ``__init__`` after another."""
_MOST = 4000
"""Functions and classes looked at for one file; who uses more than that uses the whole tree."""
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n;#]*))|import[ \t]+([^\n;#]+))",
    re.MULTILINE,
)
_WORD = re.compile(rb"\w+")


@dataclass
class _Module:
    """A module as far as names lead through it."""

    name: str
    package: bool
    raw: bytes
    body: list[ast.stmt]
    units: dict[str, ast.stmt] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @cached_property
    def lines(self) -> list[str]:
        return self.raw.decode("utf-8", "replace").splitlines()

    @cached_property
    def has_torch(self) -> bool:
        """Whether the module has a name for torch's accelerator."""
        return imports_torch(self.raw)

    def changes(self, unit: ast.stmt) -> bool:
        """Tell whether a function or class may change: nothing in it would name CUDA then."""
        return self.has_torch and may_change(self.text(unit))

    @cached_property
    def parts(self) -> dict[str, list[ast.stmt]]:
        """The functions and classes at the margin by their names, and the statements outside of them as one."""
        parts: dict[str, list[ast.stmt]] = {}
        for node in self.body:
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                parts.setdefault(self.part_of(node), []).append(node)
        return parts

    def part_of(self, node: ast.stmt) -> str:
        """Return the name of the part that a statement at the margin is of."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node.name
        return OUTSIDE

    def text(self, unit: ast.stmt) -> str:
        """Return the lines of a function, a class or an assignment."""
        first = min([unit.lineno, *(d.lineno for d in getattr(unit, "decorator_list", ()))])
        return "\n".join(self.lines[first - 1 : unit.end_lineno])


class Links:
    """The modules of a tree by their dotted names, and how to read one; ``packages`` are those with modules inside."""

    def __init__(
        self,
        paths: Mapping[str, PurePath],
        packages: frozenset[str],
        read: Callable[[str], bytes],
        *,
        opened: bool = True,
    ) -> None:
        """Follow the flows that a question about CUDA opens; without ``opened`` those that need CUDA as they are.

        The former are the CPU's where there is no CUDA, and end at all that stays as it is; of the latter nothing
        ran there, and they end only where tensors are taken to CUDA.
        """
        self._opened = opened
        self._paths = paths
        self._packages = packages
        self._read = read
        self._modules: dict[str, _Module | None] = {}
        self._by_end: dict[str, list[str]] = {}
        for name in paths:
            self._by_end.setdefault(name.rpartition(".")[2], []).append(name)
        self._said: dict[tuple[str, str], str] = {}
        self._status: dict[tuple[str, str], str] = {}
        self._left = _MOST

    def why(self, name: str) -> dict[str, str]:
        """Return the functions and classes of a module that stay although they may change by themselves, and why.

        The statements outside of them stand under the name that is given to them together.
        """
        module = self._module(name)
        if module is None:
            return {}
        held: dict[str, str] = {}
        for unit, nodes in module.parts.items():
            if any(names_cuda(module.text(node)) for node in nodes):
                if why := self._why(module, unit):
                    held[unit] = why
        return held

    def _why(self, module: _Module, unit: str) -> str:
        """Return why a unit stays although it may change by itself; empty where nothing holds it."""
        key = module.name, unit
        if key not in self._status:
            self._status[key] = ""  # while it is asked: they may use each other
            self._left = _MOST
            self._status[key] = self._uses(module, module.parts[unit]) or (
                self._used(module, module.parts[unit]) if self._opened else ""
            )
        return self._status[key]

    def why_text(self, cells: list[str]) -> str:
        """Return why a notebook stays, by what its cells use."""
        body: list[ast.stmt] = []
        for cell in cells:
            if (parsed := _parsed(cell.encode())) is not None:
                body += parsed.body
        notebook = _Module("", False, b"", body)
        _read_names(notebook)
        self._left = _MOST
        return self._uses(notebook, body)

    # -- what a module uses ---------------------------------------------------------------------

    def _uses(self, module: _Module, body: list[ast.stmt]) -> str:
        """Return why statements cannot change: something that they use of another module stays."""
        seen: set[str] = set()
        todo = list(body)
        while todo:
            for dotted in _names([todo.pop()]):
                for other, unit in self._resolve(module, dotted):
                    if other is not module:
                        if why := self._reaches(other, unit):
                            return why
                    elif unit not in seen:
                        seen.add(unit)
                        # What names CUDA itself is judged where its own text is.
                        if not names_cuda(module.text(module.units[unit])):
                            todo.append(module.units[unit])
        return ""

    def _reaches(self, module: _Module, unit: str) -> str:
        key = module.name, unit
        if key not in self._said:
            self._said[key] = ""
            self._left -= 1
            if self._left > 0:
                self._said[key] = self._looked_at(module, unit)
        return self._said[key]

    def _looked_at(self, module: _Module, unit: str) -> str:
        node = module.units[unit]
        text = module.text(node)
        where = f"{unit} of {module.name}"
        if not self._opened:
            if takes_to_cuda(text):
                return f"it uses {where}, which goes on taking tensors to CUDA"
        elif names_cuda(text):
            if not module.changes(node):
                return f"it uses {where}, which goes on naming CUDA"
            if self._why(module, module.part_of(node)):
                return f"it uses {where}, which stays for what it uses itself"
        if self._opened and DOUBLE.search(text):
            return f"it uses {where}, which computes in double precision"
        for dotted in _names([node]):
            for other, used in self._resolve(module, dotted):
                if (other is not module or used != unit) and (why := self._reaches(other, used)):
                    return why
        return ""

    # -- who uses a module --------------------------------------------------------------------

    def _used(self, module: _Module, nodes: list[ast.stmt]) -> str:
        """Return why statements cannot change: something that stays in another module uses what they define."""
        own = {name for name, unit in module.units.items() if unit in nodes}
        words = {module.name.rpartition(".")[2], *own}
        for name in sorted(set().union(*(self._importers.get(word, ()) for word in words))):
            if name == module.name or is_for_tests(self._paths[name]):
                continue
            user = self._module(name)
            for part in user.parts.values() if user is not None else ():
                assert user is not None
                dotted = next((d for d in _names(part) if self._is(user, d, module, own)), "")
                if not dotted:
                    continue
                if any(names_cuda(user.text(s)) and not user.changes(s) for s in part):
                    return f"{name} uses {dotted.partition('.')[0]} and goes on naming CUDA"
                if why := self._uses(user, part):
                    return f"{name} uses it too, and {why.removeprefix('it ')}"
        return ""

    def _is(self, user: _Module, dotted: str, module: _Module, own: set[str]) -> bool:
        """Tell whether a name of another module means one of these."""
        return any(o is module and unit in own for o, unit in self._resolve(user, dotted))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """The modules whose imports say a word, by that word."""
        found: dict[str, set[str]] = {}
        for name in self._paths:
            for one in _IMPORT.finditer(self._read(name)):
                words = _WORD.findall(b" ".join(part for part in one.groups() if part))
                for word in words:
                    found.setdefault(word.decode("ascii", "ignore"), set()).add(name)
        return found

    # -- names ----------------------------------------------------------------------------------

    def _module(self, name: str) -> _Module | None:
        if name not in self._modules:
            raw = self._read(name)
            parsed = _parsed(raw)
            made = None
            if parsed is not None:
                made = _Module(name, name in self._packages, raw, parsed.body)
                _read_names(made)
            self._modules[name] = made
        return self._modules[name]

    def _find(self, full: str) -> _Module | None:
        """Return the module of this dotted name, or of one that ends in it."""
        if full in self._paths:
            return self._module(full)
        if not full:
            return None
        ends = [n for n in self._by_end.get(full.rpartition(".")[2], ()) if n.endswith(f".{full}")]
        return self._module(ends[0]) if len(ends) == 1 else None

    def _resolve(
        self, module: _Module, dotted: str, deep: int = _DEEP
    ) -> Iterator[tuple[_Module, str]]:
        """Yield the functions, classes and variables of the tree that a name of a module may mean."""
        first, _, rest = dotted.partition(".")
        if first in module.units:
            yield module, first
            return
        if deep == 0:
            return
        full = module.imported.get(first)
        if full is not None:
            path = ".".join(filter(None, [full, rest]))
            # The longest beginning that is a module; what follows it is a name in it.
            parts = path.split(".")
            for end in range(len(parts), 0, -1):
                found = self._find(".".join(parts[:end]))
                if found is not None and found is not module:
                    if end < len(parts):
                        yield from self._resolve(found, ".".join(parts[end:]), deep - 1)
                    return
            return
        for star in module.stars:
            found = self._find(star)
            if found is not None and found is not module:
                yield from self._resolve(found, dotted, deep - 1)


def _parsed(raw: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read_names(module: _Module) -> None:
    """Note what a module defines at its margin, and what it imports anywhere."""
    for node in module.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                module.units[node.name] = node
            case ast.Assign():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        module.units[target.id] = node
            case ast.AnnAssign(target=ast.Name(id=name)):
                module.units[name] = node
            case _:
                pass
    here = module.name.split(".") if module.package else module.name.split(".")[:-1]
    for top in module.body:
        for inner in ast.walk(top):
            if isinstance(inner, ast.Import):
                for alias in inner.names:
                    bound = alias.asname or alias.name.partition(".")[0]
                    module.imported[bound] = alias.name if alias.asname else bound
            elif isinstance(inner, ast.ImportFrom):
                base = here[: len(here) - inner.level + 1] if inner.level else []
                path = ".".join([*base, *([inner.module] if inner.module else [])])
                for alias in inner.names:
                    if alias.name == "*":
                        module.stars.append(path)
                    else:
                        module.imported[alias.asname or alias.name] = f"{path}.{alias.name}"


def _names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements use, each once, with the attributes that follow."""
    seen: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            dotted = ""
            if isinstance(node, ast.Attribute):
                dotted = _dotted(node)
            elif isinstance(node, ast.Name):
                dotted = node.id
            if dotted and dotted not in seen:
                seen.add(dotted)
                yield dotted


def _dotted(node: ast.Attribute) -> str:
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.append(value.attr)
        value = value.value
    return ".".join([value.id, *reversed(parts)]) if isinstance(value, ast.Name) else ""
