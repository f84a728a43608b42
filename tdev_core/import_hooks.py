"""Calls back once a module has been imported, without importing it.

There is one finder for all who wait; it leaves ``sys.meta_path`` when nobody does any more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["when_imported"]

Callback = Callable[[ModuleType], None]


def when_imported(names: Iterable[str], callback: Callback) -> None:
    """Call ``callback(module)`` for each of ``names``: now where it is imported, else once it has been.

    A callback that waits for a name already is not called twice for it.
    """
    for name in names:
        module = sys.modules.get(name)
        if module is not None:
            callback(module)
        else:
            _watcher.add(name, callback)


class _Watcher(MetaPathFinder):
    """Finds the modules that somebody waits for just as the path finder does, with a loader that tells."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Callback]] = {}

    def add(self, name: str, callback: Callback) -> None:
        callbacks = self.waiting.setdefault(name, [])
        if callback not in callbacks:
            callbacks.append(callback)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.waiting:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _TellingLoader(spec.loader, self)
        return spec

    def tell(self, module: ModuleType) -> None:
        callbacks = self.waiting.pop(module.__name__, ())
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        for callback in callbacks:
            callback(module)


_watcher = _Watcher()


class _TellingLoader(Loader):
    """A loader that is gone from the module once it has told."""

    def __init__(self, loader: Any, watcher: _Watcher) -> None:
        self.loader = loader
        self.watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self.loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.watcher.tell(module)
