"""Rewrites modules as they are imported: the finder and the loader.

Rewritten are modules with Python source that are the program's (:mod:`.roots`). Whichever finder finds
such a module, its answer is kept but for the loader.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from tdev_core.ecosystem.libraries import NEVER_REWRITTEN
from tdev_core.run import leftout
from tdev_core.run.compiling import Compiler
from tdev_core.run.roots import OWN, Roots


class RewritingLoader(SourceFileLoader):
    """Loads a source file through a :class:`Compiler`; ``get_source`` is the file's, as always.

    Nothing goes into ``__pycache__``: other programs read that.
    """

    def __init__(self, fullname: str, path: str, compiler: Compiler) -> None:
        super().__init__(fullname, path)
        self._compiler = compiler

    def get_code(self, fullname: str) -> CodeType:
        """Return the rewritten module's code."""
        path = self.get_filename(fullname)
        return self._compiler.code(self.get_data(path), path)


class Finder:
    """A meta-path finder; put it before the finders whose modules are to be rewritten."""

    def __init__(self, roots: Roots, compiler: Compiler) -> None:
        self._roots = roots
        self._compiler = compiler

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec that the other finders give, with the rewriting loader where that applies."""
        if fullname.partition(".")[0] in OWN:
            return None
        spec = self._ask_others(fullname, path, target)
        if spec is not None and spec.origin is not None:
            compiler = self.compiler_for(spec)
            if compiler is not None and self._roots.cover(spec.origin):
                spec.loader = RewritingLoader(fullname, spec.origin, compiler)
            elif compiler is not None and fullname.partition(".")[0] not in NEVER_REWRITTEN:
                leftout.warn_of(fullname, spec.origin)
        return spec

    def compiler_for(self, spec: ModuleSpec) -> Compiler | None:
        """Return the compiler for a module that its finder would load like this; None leaves it alone."""
        # Subclasses do something of their own with the source; they keep it.
        return self._compiler if type(spec.loader) is SourceFileLoader else None

    def _ask_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        finders = sys.meta_path
        start = finders.index(self) + 1 if self in finders else 0
        for finder in finders[start:]:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if isinstance(spec, ModuleSpec):
                return spec
        return None


def install(finder: Finder) -> None:
    """Put ``finder`` first, so that it sees what every other finder answers."""
    sys.meta_path.insert(0, finder)


def uninstall(finder: Finder) -> None:
    """Take ``finder`` out again; modules that it loaded stay."""
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
