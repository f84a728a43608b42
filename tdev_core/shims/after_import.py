"""Tell when one of a set of modules has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["call_after_import", "call_when_imported", "watch"]


class _Watcher(MetaPathFinder):
    """Finds the watched modules just as the path finder does, with a loader that calls back."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.callback: Callable[[ModuleType], None] = lambda module: None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Telling(spec.loader, self)
        return spec


class _Telling(Loader):
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
        self.watcher.names.discard(module.__name__)
        self.watcher.callback(module)


_watcher = _Watcher()


def watch(names: Iterable[str], callback: Callable[[ModuleType], None]) -> None:
    """Call ``callback(module)`` once each of ``names`` has been imported; replaces earlier watches."""
    _watcher.names = set(names)
    _watcher.callback = callback
    if _watcher in sys.meta_path:
        sys.meta_path.remove(_watcher)
    if _watcher.names:
        sys.meta_path.insert(0, _watcher)


def call_after_import(names: Iterable[str], callback: Callable[[ModuleType], None]) -> None:
    """Call ``callback(module)`` once each of ``names`` has been imported, whatever is watched."""
    watcher = _Watcher()

    def told(module: ModuleType) -> None:
        if not watcher.names:
            sys.meta_path.remove(watcher)
        callback(module)

    watcher.names, watcher.callback = set(names), told
    if watcher.names:
        sys.meta_path.insert(0, watcher)


def call_when_imported(names: Iterable[str], callback: Callable[[ModuleType], None]) -> None:
    """Call ``callback(module)`` for each of ``names``: now where it is imported, else once it has been."""
    wanted = set(names)
    for name in wanted & sys.modules.keys():
        callback(sys.modules[name])
    call_after_import(wanted - sys.modules.keys(), callback)
