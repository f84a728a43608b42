"""Rewrites modules as they are imported: the finder and the loader.

Rewritten are modules with Python source below one of the given directories, unless they lie in
``site-packages`` or the standard library, or are tdev itself. Whichever finder finds such a module,
its answer is kept but for the loader.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from tdev_core.run.compiling import Compiler

OWN = ("tdev", "tdev_core")
_INSTALLED = ("site-packages", "dist-packages")


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


class Roots:
    """The directories whose modules are rewritten."""

    def __init__(self, directories: Sequence[str]) -> None:
        self.directories = tuple(dict.fromkeys(_real(d) for d in directories))
        paths = sysconfig.get_paths()
        self._others = tuple(
            _real(paths[name]) + os.sep
            for name in ("stdlib", "platstdlib", "purelib", "platlib")
            if name in paths
        )

    def cover(self, path: str) -> bool:
        """Tell whether the file ``path`` is to be rewritten."""
        real = _real(path)
        for directory in self.directories:
            inside = real[len(directory) :].lstrip(os.sep)
            if not real.startswith(directory.rstrip(os.sep) + os.sep):
                continue
            if any(part in _INSTALLED for part in inside.split(os.sep)[:-1]):
                continue
            # A program may itself be installed; what is excluded is what lies deeper than it.
            if not any(
                real.startswith(other) and not directory.startswith(other) for other in self._others
            ):
                return True
        return False


def _real(path: str) -> str:
    """Return the path without links; on Windows, letters of either case and slashes of either kind are one."""
    return os.path.normcase(os.path.realpath(path))


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
