"""Follow a name through imports to where it is defined, by text alone.

``torch.utils.checkpoint.Any`` is ``typing.Any`` because the file says so, on every Python; asking
the object would answer ``typing.Any`` here and something else there.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Mapping

from generator.facts.library import Library
from generator.facts.sources import ROOTS, ModuleSource

_LIMIT = 40  # longer chains are import cycles


class Origins:
    """Answers where dotted paths lead; ``canonical`` maps public paths to member names."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.canonical: Mapping[str, str] = {}
        self._sources: dict[str, ModuleSource | None] = {}
        self._chains: dict[str, str] = {}
        self._resolved: dict[str, str] = {}

    def add(self, source: ModuleSource) -> None:
        """Use ``source`` (a stub, say) for the module of its name."""
        self._sources[source.name] = source

    def source(self, module: str) -> ModuleSource | None:
        """Return the module's own text, if it is torch's and written in Python."""
        if module not in self._sources:
            self._sources[module] = self._load(module)
        return self._sources[module]

    def _load(self, module: str) -> ModuleSource | None:
        if module.partition(".")[0] not in ROOTS:
            return None
        live = sys.modules.get(module)
        if live is None:
            return self._beside(module)
        spec = getattr(live, "__spec__", None)
        path = getattr(spec, "origin", None) or getattr(live, "__file__", None)
        if not isinstance(path, str):
            return None
        package = bool(getattr(spec, "submodule_search_locations", None))
        return self.library.source(module, path, package)

    def _beside(self, module: str) -> ModuleSource | None:
        """Return a module that nobody imported, found as a file; asking Python's finders would run code."""
        parent, _, name = module.rpartition(".")
        for folder in _folders(sys.modules.get(parent)):
            base = os.path.join(folder, name)
            for path, package in ((f"{base}.py", False), (os.path.join(base, "__init__.py"), True)):
                if os.path.isfile(path):
                    return self.library.source(module, path, package)
        return None

    def chain(self, path: str) -> str | None:
        """Tell where ``path`` (module and name) is defined; ``None`` if the text does not tell."""
        if path in self._chains:
            return self._chains[path] or None
        self._chains[path] = ""  # seen: breaks cycles
        found = self._chain(path, set())
        self._chains[path] = found or ""
        return found

    def _chain(self, path: str, seen: set[str]) -> str | None:
        for _ in range(_LIMIT):
            if path in seen:
                return path
            seen.add(path)
            module, rest = self._split(path)
            if module is None:
                return path  # not torch's: the import said so
            if not rest:
                return path
            step = self._step(module, rest, seen)
            if step is None:
                return None
            if step == path:
                return path
            path = step
        return path

    def _split(self, path: str) -> tuple[str | None, str]:
        """Longest prefix that is a torch module with text, and what is left."""
        if path.partition(".")[0] not in ROOTS:
            return None, path
        parts = path.split(".")
        for size in range(len(parts), 0, -1):
            module = ".".join(parts[:size])
            if size == len(parts) or module in sys.modules or module in self._sources:
                if self.source(module) is not None:
                    return module, ".".join(parts[size:])
        return None, path

    def _step(self, module: str, rest: str, seen: set[str]) -> str | None:
        source = self.source(module)
        assert source is not None
        head, _, tail = rest.partition(".")
        suffix = f".{tail}" if tail else ""
        if head in source.functions or head in source.classes:
            return f"{module}.{rest}"
        if head in source.imports:
            return source.imports[head] + suffix
        if head in source.assignments:
            bindings = source.assignments[head]
            value = bindings[0].value
            # A name, then: `new = old`.
            if len(bindings) == 1 and value != head and source.origin(value or ""):
                return f"{module}.{value}{suffix}"
            return f"{module}.{rest}"
        for star in source.stars:
            if star.partition(".")[0] in ROOTS and head not in _public(self.source(star)):
                continue
            if star.partition(".")[0] not in ROOTS and not hasattr(sys.modules.get(star), head):
                continue
            found = self._chain(f"{star}.{rest}", seen)
            if found is not None:
                return found
        return None

    def resolve_in(self, module: str, path: str) -> str:
        """Canonical dotted path of text ``path`` that is written in ``module``."""
        head, _, tail = path.partition(".")
        suffix = f".{tail}" if tail else ""
        source = self.source(module)
        start = source.origin(head) if source else None
        if start is None and source is not None:
            for star in source.stars:
                outside = star.partition(".")[0] not in ROOTS
                if head in _public(self.source(star)) or (
                    outside and hasattr(sys.modules.get(star), head)
                ):
                    start = f"{star}.{head}"
                    break
        if start is None:
            if hasattr(builtins, head) or source is None or head not in ROOTS:
                return path
            start = head
        return self.resolve(start + suffix)

    def resolve(self, path: str) -> str:
        """Canonical form of a full dotted path: the member's public name where it has one."""
        if path not in self._resolved:
            self._resolved[path] = self._resolve(path)
        return self._resolved[path]

    def _resolve(self, path: str) -> str:
        seen: set[str] = set()
        current = path
        for _ in range(_LIMIT):
            parts = current.split(".")
            for size in range(len(parts), 1, -1):
                name = self.canonical.get(".".join(parts[:size]))
                if name is not None:
                    return ".".join([name, *parts[size:]])
            if current in seen:
                break
            seen.add(current)
            module, rest = self._split(current)
            step = self._step(module, rest, set()) if module and rest else None
            if step is None or step == current:
                break
            current = step
        return current.removeprefix("builtins.")


def _folders(module: object) -> list[str]:
    path = getattr(module, "__path__", None)
    # torch.classes answers every attribute, and not with a list.
    return [item for item in path if isinstance(item, str)] if isinstance(path, list) else []


def _public(source: ModuleSource | None) -> frozenset[str]:
    return source.public if source else frozenset()
