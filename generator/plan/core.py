"""The modules of ``tdev_core``, by the names that routes and templates have for them.

Routes say ``memory.allocated(device)`` and templates ``core.mirror``, wherever in ``tdev_core`` the module lies:
its last component is its name, that of its folder for a package. A name may have folders before it
(``codemod.cli``). Where several modules have a name, those of :data:`ENTERED_ELSEWHERE` do not count.
"""

from __future__ import annotations

import ast
import difflib
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from generator.errors import GenerationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Core"]

# Rooms that emitted code enters through an interface or not at all: one backend's own modules, and
# programs with a command line.
ENTERED_ELSEWHERE = frozenset(
    {"accelerators", "codemod", "cpu", "mlx", "packages", "privateuse", "run", "sim"}
)


class Core:
    """An index of every module below a folder, made without importing any."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths: dict[str, Path] = {}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._names: dict[str, dict[str, ast.stmt | None]] = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self._paths[dotted] = path
            self._by_name[dotted.rpartition(".")[2]].append(dotted)

    def __contains__(self, name: str) -> bool:
        return bool(self._having(name))

    def find(self, name: str, where: str) -> str:
        """Return the dotted path of the one module called ``name``; ``where`` says who asks.

        Raises:
            GenerationError: no module has the name, or more than one.
        """
        found = self._having(name)
        if len(found) > 1:
            own = self.folder.name + "."
            found = [
                dotted
                for dotted in found
                if ENTERED_ELSEWHERE.isdisjoint(dotted.removeprefix(own).split(".")[:-1])
            ] or found
        if not found:
            raise GenerationError(f"{where}: {self.folder.name} has no module {name!r}.")
        if len(found) > 1:
            raise GenerationError(
                f"{where}: {name!r} is both {' and '.join(found)}; rename one of them."
            )
        return found[0]

    def stand_ins(self) -> list[str]:
        """Return the modules of all packages that have a stand-in, by the names that a program imports."""
        table = self.folder / "ecosystem" / "packages.toml"
        if not table.exists():
            return []
        packages = tomllib.loads(table.read_text(encoding="utf-8"))
        names = {name for name, row in packages.items() if row["answer"] == "stand-in"}
        room = f"{self.folder.name}.packages."
        inside = (d.removeprefix(room) for d in self._paths if d.startswith(room))
        return sorted(module for module in inside if module.partition(".")[0] in names)

    def path(self, dotted: str) -> Path:
        """Return the file of a module that :meth:`find` found."""
        return self._paths[dotted]

    def definition(
        self, dotted: str, name: str, where: str
    ) -> ast.FunctionDef | ast.ClassDef | None:
        """Return the function or class ``name`` of a module that :meth:`find` found, wherever it is defined.

        None for a value, and for what is imported from elsewhere than this library.

        Raises:
            GenerationError: the module has no such name.
        """
        if dotted not in self._names:
            self._names[dotted] = dict(_names(ast.parse(self._paths[dotted].read_text("utf-8"))))
        names = self._names[dotted]
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {close[0]!r}" if close else ""
            raise GenerationError(f"{where}: {dotted} has no {name!r}{hint}.")
        match names[name]:
            case ast.FunctionDef() | ast.ClassDef() as found:
                return found
            case ast.ImportFrom(module=str(home)) as imported if home in self._paths:
                real = next(a.name for a in imported.names if name in (a.asname, a.name))
                submodule = f"{home}.{real}" in self._paths
                return None if submodule else self.definition(home, real, where)
        return None

    def _having(self, name: str) -> list[str]:
        same_end = self._by_name.get(name.rpartition(".")[2], [])
        return [dotted for dotted in same_end if dotted.endswith("." + name)]


def _names(tree: ast.AST) -> Iterator[tuple[str, ast.stmt | None]]:
    """Yield what the top level of a module binds, in order: definitions, imports, and None for every value."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield (alias.asname or alias.name).partition(".")[0], node
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from _names(node)
            case _:
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, None
