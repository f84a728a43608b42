"""Torch modules under a second name: what ``import tdev.x`` finds where nothing is routed in ``x``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from tdev_core.backend import Backend, current
from tdev_core.cuda import binding_names
from tdev_core.mirror import newer, versions
from tdev_core.mirror.module import STATE, State, become

__all__ = ["AliasFinder", "finder_of", "install_finder"]

_HOLDERS = {
    name.rsplit(".", up)[0] for name in binding_names.NAMES for up in range(1, name.count(".") + 1)
}
"""Packages of torch below which a module has names that tdev answers."""


class AliasFinder(MetaPathFinder):
    """Answers imports of ``tdev.x.y`` that have no module of their own with torch's ``x.y``."""

    def __init__(self, package: str, own: Iterable[str]) -> None:
        self.prefix = package + "."
        self.own = frozenset(own)
        self.generated_from = ""  # set where the installed torch is another one

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self.prefix):
            return None
        name = "torch." + fullname[len(self.prefix) :]
        own = fullname in self.own
        if (not own or self.generated_from) and not _exists(name):
            if self.generated_from and versions.known_module(name):
                message = versions.lost_message(name, self.generated_from)
                raise ModuleNotFoundError(message, name=fullname)
            if not own and _is_for_others(fullname, path):
                raise ModuleNotFoundError(_not_there(fullname, name), name=fullname)
            return None
        if own:
            return None
        return ModuleSpec(fullname, _AliasLoader(name, self))

    def alias(self, module: ModuleType) -> ModuleType:
        """Return what stands for a torch module under its second name: itself, unless names differ.

        They do in ``torch._C``, which lacks CUDA's functions in builds for other devices, and where torch asks those.
        """
        own: Mapping[str, str] = {}
        apart = False
        if current() is not Backend.CUDA:
            own = binding_names.NAMES.get(module.__name__, {})
            # The import system binds a stand-in on its package, which must not be torch's.
            apart = bool(own) or module.__name__ in _HOLDERS
        lost: frozenset[str] = frozenset()
        if self.generated_from:
            lost = versions.lost_names(module.__name__)
            is_new = not versions.known_module(module.__name__)
            apart = apart or bool(lost) or is_new and newer.answers_for_device(module.__name__)
        if not apart:
            return module
        stand_in = ModuleType(self.prefix + module.__name__[len("torch.") :], module.__doc__)
        namespace = stand_in.__dict__
        for key in ("__all__", "__file__", "__path__"):
            if hasattr(module, key):
                namespace[key] = getattr(module, key)
        become(
            stand_in,
            State(module, frozenset(), dict(own), lost, self.generated_from, frozenset()),
        )
        return stand_in

    def look_for_lost(self, generated_from: str) -> None:
        """From now on tell of names that the installed torch lacks, in aliases too."""
        self.generated_from = generated_from
        for alias, module in list(sys.modules.items()):
            name = "torch." + alias[len(self.prefix) :]
            if alias.startswith(self.prefix) and sys.modules.get(name) is module:
                sys.modules[alias] = self.alias(module)


def _exists(module: str) -> bool:
    if sys.modules.get(module) is not None:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def _is_for_others(fullname: str, path: Sequence[str] | None) -> bool:
    """Tell whether the ordinary finder would take what is there for other torches: a mirror, or a folder with a stub."""
    leaf = fullname.rpartition(".")[2]
    return any(
        Path(entry, leaf, "__init__.pyi").is_file() or Path(entry, f"{leaf}.pyi").is_file()
        for entry in path or ()
    )


def _not_there(fullname: str, name: str) -> str:
    package, _, leaf = fullname.rpartition(".")
    state: State | None = getattr(sys.modules.get(package), STATE, None)
    if state is None or leaf not in state.partial:
        return f"No module named {fullname!r}"
    return versions.absent_message(name, state.partial[leaf])


class _AliasLoader(Loader):
    def __init__(self, name: str, finder: AliasFinder) -> None:
        self.name = name
        self.finder = finder

    def exec_module(self, module: ModuleType) -> None:
        # Importlib takes from sys.modules what the loader left there: torch's own module object,
        # whose __spec__ and __name__ thereby stay untouched.
        sys.modules[module.__name__] = self.finder.alias(importlib.import_module(self.name))
        _register_loaded(self.finder)


def _register_loaded(finder: AliasFinder) -> None:
    """Give every torch module that is loaded its second name.

    After loading a submodule, the import system binds it on its package, which for an alias is
    torch's own: where torch has bound a function under that name, it would be lost. What is already
    in ``sys.modules`` is not bound again.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.") and isinstance(module, ModuleType):
            alias = finder.prefix + name[len("torch.") :]
            if alias not in finder.own and alias not in sys.modules:
                sys.modules[alias] = finder.alias(module)


def finder_of(package: str) -> AliasFinder:
    return next(
        entry
        for entry in sys.meta_path
        if isinstance(entry, AliasFinder) and entry.prefix == package + "."
    )


def install_finder(package: str, own: Iterable[str]) -> None:
    """Put the :class:`AliasFinder` of ``package`` first on ``sys.meta_path``, once.

    First, because a package that is torch's own carries torch's ``__path__``: the ordinary finder
    would run torch's files a second time under another name.
    """
    for finder in list(sys.meta_path):
        if isinstance(finder, AliasFinder) and finder.prefix == package + ".":
            sys.meta_path.remove(finder)
    sys.meta_path.insert(0, AliasFinder(package, own))
    _register_loaded(finder_of(package))
