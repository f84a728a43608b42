"""How ``tdev`` modules stand in for ``torch`` modules.

Two kinds of module live under ``tdev.``:

* *aliases*: a torch module in which nothing is routed is torch's own module object under a second
  name. :class:`AliasFinder` hands it out, so that it is never executed twice.
* *mirrors*: a generated module that defines the routed functions and hands every other name through
  to its torch module, for reading, writing and deleting. Flags set on it are therefore torch's.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tdev_core import dynamo, versions
from tdev_core.backend import Backend, current
from tdev_core.dressing import dressed
from tdev_core.suggest import NoSuchName

__all__ = ["AliasFinder", "MirrorModule", "adopt", "install_finder", "load"]

_STATE = "__tdev_mirror__"
_MISSING = object()


class _State:
    """What a mirror knows about itself."""

    __slots__ = ("elsewhere", "generated_from", "lost", "replaced", "routed", "source", "tools")

    def __init__(
        self,
        source: ModuleType,
        routed: frozenset[str],
        elsewhere: Mapping[str, str],
        lost: frozenset[str],
        generated_from: str,
        tools: frozenset[str],
    ) -> None:
        self.source = source
        self.routed = routed
        self.elsewhere = elsewhere
        self.lost = lost
        self.generated_from = generated_from
        self.tools = tools
        self.replaced: set[str] = set()  # submodules in whose place a program has put something


class MirrorModule(ModuleType):
    """A module whose own names are the routed ones; all others are its torch module's."""

    def __getattr__(self, name: str) -> Any:
        state: _State = self.__dict__[_STATE]
        home = state.elsewhere.get(name)
        if home is not None:
            module, _, attribute = home.partition(":")
            try:
                value = getattr(importlib.import_module(module), attribute)
            except (AttributeError, ModuleNotFoundError) as error:
                if versions.differs(state.generated_from):
                    raise _lost(name, state) from None
                # An AttributeError from here would read as "torch has no such name".
                raise ImportError(f"{module} could not be loaded: {error}", name=module) from error
            self.__dict__[name] = value
            return value
        if name in state.lost:
            raise _lost(name, state)
        value = getattr(state.source, name, _MISSING)
        if value is _MISSING:
            if name in state.tools:
                return importlib.import_module(f"{self.__name__}.{name}")
            if versions.differs(state.generated_from) and not _is_dunder(name):
                if name in versions.known_names(state.source.__name__):
                    raise _lost(name, state)
            raise NoSuchName(state.source, name)
        if isinstance(value, ModuleType):
            value = _mirrored(value)
        elif not callable(value):
            return value  # a flag: read torch's at every access
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        state: _State | None = self.__dict__.get(_STATE)
        own_submodule = (
            isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        )
        if own_submodule and state is not None:
            if name in state.replaced:
                state.replaced.discard(name)
                setattr(state.source, name, _behind(value))
            elif _hides_submodule(state, name):
                return
        if (
            state is None
            or own_submodule
            or name in state.routed
            or name in state.elsewhere
            or _is_dunder(name)
            or getattr(state.source, name, _MISSING) is value
        ):
            # Routed names, and what the import system binds on a package, are the mirror's own.
            super().__setattr__(name, value)
            return
        if isinstance(getattr(state.source, name, None), ModuleType):
            state.replaced.add(name)
        setattr(state.source, name, value)
        self.__dict__.pop(name, None)

    def __delattr__(self, name: str) -> None:
        state: _State | None = self.__dict__.get(_STATE)
        if state is None or name in state.routed or name in state.elsewhere or _is_dunder(name):
            super().__delattr__(name)
            return
        delattr(state.source, name)
        self.__dict__.pop(name, None)

    def __dir__(self) -> Iterable[str]:
        state: _State = self.__dict__[_STATE]
        return sorted({*dir(state.source), *state.routed, *state.elsewhere} - state.lost)


def _behind(module: ModuleType) -> ModuleType:
    """The torch module that a mirror stands for."""
    state: _State | None = module.__dict__.get(_STATE)
    return module if state is None else state.source


def _hides_submodule(state: _State, name: str) -> bool:
    """Whether torch binds something else than its submodule under ``name``.

    ``torch.nn.parallel.replicate`` is the function of the module of that name; the import system,
    which binds every submodule it imports, must not take it away.
    """
    return not isinstance(getattr(state.source, name, None), (ModuleType, type(None)))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _lost(name: str, state: _State) -> AttributeError:
    dotted = f"{state.source.__name__}.{name}"
    return AttributeError(
        versions.lost_message(dotted, state.generated_from), name=name, obj=state.source
    )


def _mirrored(module: ModuleType) -> ModuleType:
    """The ``tdev`` counterpart of a torch module; modules of other packages stand for themselves."""
    name = module.__name__
    if name != "torch" and not name.startswith("torch."):
        return module
    if sys.modules.get(name) is not module:
        return module  # only registered modules can be imported by name
    return importlib.import_module("tdev" + name[len("torch") :])


def adopt(
    name: str,
    source: str,
    *,
    routed: Sequence[str] = (),
    elsewhere: Mapping[str, str] | None = None,
    home: Backend | None = None,
    script: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
    tools: Sequence[str] = (),
    generated_from: str,
) -> None:
    """Turn the module ``name``, whose body has just run, into the mirror of ``source``.

    Args:
        name: the mirror's ``__name__``.
        source: name of the torch module it mirrors.
        routed: names the body defines in place of torch's.
        elsewhere: further routed names, and where each is defined, as ``module:attribute``.
        home: the backend on which torch's own objects answer; there the body's give way to them, so
            that ``tdev.cuda.synchronize is torch.cuda.synchronize`` and costs nothing.
        script: routed names that TorchScript knows as operators of the given names.
        extra: names that tdev adds to torch's; kept on every backend.
        tools: submodules that tdev adds to torch's; imported at their first use.
        generated_from: the torch version that the mirror was generated from.
    """
    original_module = load(source, generated_from)
    module = sys.modules[name]
    namespace = module.__dict__
    at_home = home is not None and current() is home
    kept: list[str] = []
    lost: list[str] = []
    for key in routed:
        original = getattr(original_module, key, _MISSING)
        if original is _MISSING:
            namespace.pop(key, None)
            lost.append(key)
        elif at_home:
            namespace.pop(key, None)
        else:
            namespace[key] = dressed(namespace[key], name, key, original)
            kept.append(key)
    if script and not at_home:
        _teach_torchscript({namespace[key]: op for key, op in script.items() if key in namespace})
    namespace[_STATE] = _State(
        original_module,
        frozenset((*kept, *extra)),
        {} if at_home or elsewhere is None else dict(elsewhere),
        frozenset(lost),
        generated_from,
        frozenset(tools),
    )
    module.__class__ = MirrorModule
    if source == "torch" and versions.differs(generated_from):
        _finder(name).look_for_lost(generated_from)


def load(name: str, generated_from: str) -> ModuleType:
    """The torch module ``name``, imported.

    Raises:
        ModuleNotFoundError: it is not there; where the installed torch is another one than the mirror
            was generated from, the message says so.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name or not versions.differs(generated_from):
            raise
        message = versions.lost_message(name, generated_from)
        raise ModuleNotFoundError(message, name=name) from None


def _teach_torchscript(operators: Mapping[Any, str]) -> None:
    # TorchScript knows builtins by object identity; a wrapper with **kwargs could not be compiled,
    # and need not be: inside a script the operator itself is meant.
    from torch.jit._builtins import _register_builtin

    for function, operator in operators.items():
        _register_builtin(function, operator)


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
            return None
        if own:
            return None
        return ModuleSpec(fullname, _AliasLoader(name, self))

    def alias(self, module: ModuleType) -> ModuleType:
        """What stands for a torch module under its second name: itself, unless it lacks names."""
        lost = versions.lost_names(module.__name__) if self.generated_from else frozenset()
        if not lost:
            return module
        stand_in = MirrorModule(self.prefix + module.__name__[len("torch.") :], module.__doc__)
        namespace = stand_in.__dict__
        for key in ("__all__", "__file__", "__path__"):
            if hasattr(module, key):
                namespace[key] = getattr(module, key)
        namespace[_STATE] = _State(module, frozenset(), {}, lost, self.generated_from, frozenset())
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


def _finder(package: str) -> AliasFinder:
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
    dynamo.prepare()
    for finder in list(sys.meta_path):
        if isinstance(finder, AliasFinder) and finder.prefix == package + ".":
            sys.meta_path.remove(finder)
    sys.meta_path.insert(0, AliasFinder(package, own))
    _register_loaded(_finder(package))
