"""The module object of a mirror: its own names are the routed ones, all others its torch module's."""

from __future__ import annotations

import copyreg
import functools
import importlib
import operator
import sys
import threading
from collections.abc import Iterable, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MappingProxyType,
    ModuleType,
)
from typing import Any

from tdev_core.mirror import newer, versions
from tdev_core.mirror.namespace import MARK, Namespace, needs_own, own_names
from tdev_core.mirror.suggest import NoSuchName

__all__ = ["MISSING", "STATE", "MirrorModule", "State", "become", "torchs_own", "watch"]

STATE = f"{MARK}mirror__"
"""Where a mirror keeps its :class:`State`."""

_SOURCE = f"{MARK}source__"
"""Where it keeps the torch module behind it."""

_NAMESPACE = f"{MARK}namespace__"
"""Where it keeps what others see as its ``__dict__``."""

MISSING = object()


_NOTHING: Mapping[str, str] = MappingProxyType({})


class State:
    """The facts that a mirror knows about itself."""

    __slots__ = (
        "elsewhere",
        "faked",
        "generated_from",
        "lost",
        "partial",
        "replaced",
        "routed",
        "source",
        "tools",
    )

    def __init__(
        self,
        source: ModuleType,
        routed: frozenset[str],
        elsewhere: Mapping[str, str],
        lost: frozenset[str],
        generated_from: str,
        tools: frozenset[str],
        partial: Mapping[str, str] = _NOTHING,
    ) -> None:
        self.source = source
        self.routed = routed
        self.elsewhere = elsewhere
        self.lost = lost
        self.generated_from = generated_from
        self.tools = tools
        self.partial = partial  # names that not every torch has, and which have them
        self.replaced: set[str] = set()  # submodules in whose place a program has put something
        # Names in whose place it has, with what was there, in the mirror and in torch, and what is in torch now.
        self.faked: dict[str, tuple[Any, Any, Any]] = {}


class MirrorModule(ModuleType):
    """A module whose own names are the routed ones; all others are its torch module's.

    Functions, classes and constants of torch are read through at each access, so that whoever replaces one in torch for a while
    (``mock.patch("torch.relu")``) replaces it here. From the second access on that is a property of the mirror's own
    class, made of C alone: it costs a second look into a dictionary. Submodules are kept.
    """

    # A module's own lookup, called from a class that has __getattr__, takes three times as long as
    # the plain one. They differ in what is raised for a missing name, which is ours to say.
    __getattribute__ = object.__getattribute__

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """The names of torch's module, each with what the mirror answers: see :class:`Namespace`."""
        own = own_names(self)
        return own if needs_own(sys._getframe().f_back) else own.get(_NAMESPACE, own)

    def __getattr__(self, name: str) -> Any:
        state: State = own_names(self)[STATE]
        home = state.elsewhere.get(name)
        if home is not None:
            module, _, attribute = home.partition(":")
            try:
                value = getattr(importlib.import_module(module), attribute)
            except (AttributeError, ModuleNotFoundError) as error:
                if name in state.partial or versions.differs(state.generated_from):
                    raise _lost(name, state) from None
                # An AttributeError from here would read as "torch has no such name".
                raise ImportError(f"{module} could not be loaded: {error}", name=module) from error
            own_names(self)[name] = value
            return value
        if name in state.lost:
            raise _lost(name, state)
        value = getattr(state.source, name, MISSING)
        if value is MISSING:
            if name in state.tools:
                return importlib.import_module(f"{self.__name__}.{name}")
            if name in state.partial:
                raise _lost(name, state)
            if versions.differs(state.generated_from) and not _is_dunder(name):
                if name in versions.known_names(state.source.__name__):
                    raise _lost(name, state)
            raise NoSuchName(state.source, name)
        if versions.differs(state.generated_from):
            instead = newer.answer(state.source.__name__, name, value, state.generated_from)
            if instead is not value:
                own_names(self)[name] = instead
                return instead
        # By its type: `isinstance` asks a value for its class too, and some of torch's warn of any question.
        if issubclass(type(value), ModuleType):
            value = _mirrored(value)
            own_names(self)[name] = value
        elif _is_torchs(value if callable(value) else type(value)):
            # Neither a flag nor what a program has put there for a while, in the place of a submodule perhaps.
            setattr(type(self), name, property(operator.attrgetter(f"{_SOURCE}.{name}")))
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        state: State | None = own_names(self).get(STATE)
        if state is None:  # the module's body has not run yet
            super().__setattr__(name, value)
        elif isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            _bind_submodule(self, state, name, value)
        elif _is_own(state, name):
            if not _is_dunder(name):
                _fake_in_torch(self, state, name, value)
            super().__setattr__(name, value)
        elif not (isinstance(value, ModuleType) and getattr(state.source, name, None) is value):
            # Also to what it is already: torch may refuse, and a context may change it any time.
            _set_in_torch(self, state, name, value)

    def __delattr__(self, name: str) -> None:
        state: State | None = own_names(self).get(STATE)
        if state is None or _is_own(state, name):
            if state is not None and name in state.faked:
                # `mock.patch` undoes so what the mirror loaded as it was asked for: it will load that again.
                _put_back_in_torch(state, name)
            super().__delattr__(name)
            return
        if isinstance(own_names(state.source).get(name), ModuleType):
            state.replaced.add(name)  # who puts the mirror's back means torch's, too
        delattr(state.source, name)
        _forget(self, name)

    def __eq__(self, other: object) -> bool:
        """Tell whether ``other`` is the torch module behind this one, or another mirror of it.

        A program takes modules as keys (``{numpy: …, torch: …}[xp]``), and only those of its files that name
        a device get the mirror.
        """
        return _behind(self) is (_behind(other) if isinstance(other, ModuleType) else other)

    def __hash__(self) -> int:
        return hash(_behind(self))

    def __dir__(self) -> Iterable[str]:
        state: State = own_names(self)[STATE]
        there = {*dir(state.source)}
        lost = {*state.lost, *(name for name in state.partial if name not in there)}
        return sorted({*there, *state.routed, *state.elsewhere} - lost)


class WatchedModule(ModuleType):
    """A module of torch's that a mirror answers for in CUDA's place: what a program puts in it stands in the mirror, too.

    As on CUDA, where the two are one: a test that pretends something of ``torch.cuda`` need not know who asks. What torch
    itself puts there is no such thing: a library that uses a GPU beside the active backend has it set the GPU's generators.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            name[:1] != "_"
            and not isinstance(value, ModuleType)
            and not _is_torch(sys._getframe(1))
        ):
            mirror = sys.modules.get("tdev" + self.__name__[len("torch") :])
            state: State | None = own_names(mirror).get(STATE) if mirror is not None else None
            if mirror is None or state is None:
                # Not loaded yet, nor is it now: who sets it may be in the middle of a compilation.
                before = self.__dict__.setdefault(_BEFORE, {})
                before.setdefault(name, self.__dict__.get(name, MISSING))
            elif _is_own(state, name):
                _fake_in_mirror(mirror, state, name, value)
        super().__setattr__(name, value)


def _is_torch(frame: FrameType) -> bool:
    """Tell whether it is torch's own code that runs there."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "torch"


_BEFORE = f"{MARK}before__"
"""Where such a module keeps what was in the places that a program has put something in before the mirror was loaded."""


def torchs_own(module: ModuleType, name: str) -> Any:
    """Return what torch has by a name, whatever a program has put there for a while; :data:`MISSING` where it has nothing."""
    before: Mapping[str, Any] = own_names(module).get(_BEFORE, _NOTHING)
    return before[name] if name in before else getattr(module, name, MISSING)


def watch(module: ModuleType) -> None:
    """Have the mirror of a module of torch's see what is put in it."""
    if type(module) is ModuleType:
        module.__class__ = WatchedModule


def become(module: ModuleType, state: State) -> None:
    """Turn ``module``, whose own names are there, into the mirror that ``state`` describes."""
    names = own_names(module)
    names[STATE] = state
    names[_SOURCE] = state.source
    names[_NAMESPACE] = Namespace(
        module, state.source, (state.routed, state.elsewhere.keys()), state.lost
    )
    # A class of its own, for its properties.
    module.__class__ = type(MirrorModule.__name__, (MirrorModule,), {"__module__": __name__})
    copyreg.pickle(module.__class__, _by_name)
    _give_back_names(module, state)
    # Not on CUDA, where the mirror has nothing of its own that torch has.
    own = bool(state.elsewhere) or any(hasattr(state.source, name) for name in state.routed)
    if own and _is_cudas(state.source):
        watch(state.source)
    for name, theirs in state.source.__dict__.pop(_BEFORE, _NOTHING).items():
        value = getattr(state.source, name, MISSING)
        if theirs is not MISSING and value is not theirs and _is_own(state, name):
            state.faked[name] = names.get(name, MISSING), theirs, value
            names[name] = value


def _give_back_names(module: ModuleType, state: State) -> None:
    """Have who asks a mirror for what its body imports for itself get torch's, where torch has something of that name.

    ``torch._compile`` is a module of torch's, ``torch.jit.annotations`` too, and ``torch.distributed._Backend`` a class.
    """
    for name, ours in own_names(module).items():
        if not _is_own(state, name) and getattr(state.source, name, ours) is not ours:
            setattr(type(module), name, property(functools.partial(_torchs, name=name)))


def _torchs(module: MirrorModule, name: str) -> Any:
    value = getattr(own_names(module)[STATE].source, name)
    return _mirrored(value) if isinstance(value, ModuleType) else value


def _by_name(module: ModuleType) -> tuple[Any, tuple[str]]:
    """Pickle a module as what imports it, as cloudpickle does with those of the plain class."""
    return importlib.import_module, (module.__name__,)


copyreg.pickle(WatchedModule, _by_name)


def _is_own(state: State, name: str) -> bool:
    """Tell whether a name is the mirror's and not torch's: routed names, and what describes the module."""
    return name in state.routed or name in state.elsewhere or _is_dunder(name)


def _bind_submodule(mirror: MirrorModule, state: State, name: str, module: ModuleType) -> None:
    """Bind a submodule of the mirror: the import system does, and a program that puts back what it replaced."""
    if name in state.replaced:
        state.replaced.discard(name)
        setattr(state.source, name, _behind(module))
    elif _hides_submodule(state, name):
        return
    ModuleType.__setattr__(mirror, name, module)


def _set_in_torch(mirror: MirrorModule, state: State, name: str, value: Any) -> None:
    """Set an attribute of the torch module, so that torch sees it too; the mirror reads it from there."""
    if isinstance(getattr(state.source, name, None), ModuleType):
        state.replaced.add(name)
    setattr(state.source, name, value)
    _forget(mirror, name)


def _forget(mirror: MirrorModule, name: str) -> None:
    """Drop what a mirror keeps of torch's; not what its body has imported by such a name, which that goes on calling."""
    if name not in vars(type(mirror)):
        own_names(mirror).pop(name, None)


def _is_cudas(source: ModuleType) -> bool:
    return source.__name__ == "torch.cuda" or source.__name__.startswith("torch.cuda.")


def _fake_in_torch(mirror: MirrorModule, state: State, name: str, value: Any) -> None:
    """Put what stands in for a function of tdev's into torch, too, as on CUDA, where the two are one.

    Who asks torch then sees what a test pretends, and a package that loads with ``torch.load`` what the program has made of
    that: ``torch.load = partial(torch.load, weights_only=False)``. What is put back brings torch's own back.
    """
    if name in state.faked:
        ours = state.faked[name][0]
    else:
        ours, theirs = getattr(mirror, name, MISSING), getattr(state.source, name, MISSING)
        if not callable(ours) or not callable(theirs):
            return
        if not (_is_cudas(state.source) or _codes(ours)):
            return  # a class, of which others may ask whether something is
        state.faked[name] = ours, theirs, MISSING
    if value is ours:
        _put_back_in_torch(state, name)
    else:
        put = value
        if callable(value) and not _is_cudas(state.source):
            theirs = state.faked[name][1]
            if isinstance(theirs, BuiltinFunctionType) and not isinstance(value, _PLAIN):
                return  # which C may call for tdev's, where no frame tells a mock that it is called again
            put = _instead_of(ours, theirs, value)
        ModuleType.__setattr__(state.source, name, put)  # unwatched: it is in the mirror already
        state.faked[name] = (*state.faked[name][:2], put)


_PLAIN = (FunctionType, functools.partial)


def _codes(function: Any) -> set[CodeType]:
    """Return the code of a function of tdev's, and of what it wraps; C may answer its plain calls. Empty for anything else."""
    found: set[CodeType] = set()
    function = getattr(function, "__tdev_wrapper__", function)
    while isinstance(function, FunctionType) and function.__code__ not in found:
        found.add(function.__code__)
        function = getattr(function, "__wrapped__", None)
    return found


def _instead_of(ours: Any, theirs: Any, value: Any) -> Any:
    """Return what torch gets for a function whose place ``value`` takes in tdev.

    tdev's function calls torch's, and ``value`` may well call tdev's, whose place it has: that is answered by torch's own.
    """
    codes = _codes(ours) | _codes(value)  # `value` itself calls torch's where C does so for tdev's
    inside = threading.local()

    @functools.wraps(value, updated=())
    def instead(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        # tdev's function, or one that it has another one call torch's.
        around = caller.f_back.f_code if caller.f_back is not None else None
        if caller.f_code in codes or around in codes or getattr(inside, "called", False):
            return theirs(*args, **kwargs)
        inside.called = True
        try:
            return value(*args, **kwargs)
        finally:
            inside.called = False

    return instead


def _fake_in_mirror(mirror: ModuleType, state: State, name: str, value: Any) -> None:
    """Put what is put in the place of one of torch's names into the mirror as well; what is put back brings the mirror's own back."""
    if name not in state.faked:
        ours, theirs = own_names(mirror).get(name, MISSING), getattr(state.source, name, MISSING)
        if theirs is MISSING or theirs is value:
            return
        state.faked[name] = ours, theirs, MISSING
    ours, theirs, _ = state.faked[name]
    if value is not theirs:
        own_names(mirror)[name] = value
        state.faked[name] = ours, theirs, value
        return
    del state.faked[name]
    if ours is MISSING:  # which is loaded as it is asked for
        own_names(mirror).pop(name, None)
    else:
        own_names(mirror)[name] = ours


def _put_back_in_torch(state: State, name: str) -> None:
    """Bring torch's own back, unless somebody else has put something there meanwhile, or that back."""
    _, theirs, put = state.faked.pop(name)
    if getattr(state.source, name, MISSING) is put:
        ModuleType.__setattr__(state.source, name, theirs)


def _behind(module: ModuleType) -> ModuleType:
    """Return the torch module that a mirror stands for."""
    state: State | None = own_names(module).get(STATE)
    return module if state is None else state.source


def _hides_submodule(state: State, name: str) -> bool:
    """Tell whether torch binds something else than its submodule under ``name``.

    ``torch.nn.parallel.replicate`` is the function of the module of that name; the import system,
    which binds every submodule it imports, must not take it away.
    """
    return not isinstance(getattr(state.source, name, None), (ModuleType, type(None)))


def _is_torchs(value: Any) -> bool:
    """Tell whether a callable was written in torch; functions in C do not always say where."""
    module = getattr(value, "__module__", None)
    return module is None or (isinstance(module, str) and module.partition(".")[0] == "torch")


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _lost(name: str, state: State) -> AttributeError:
    dotted = f"{state.source.__name__}.{name}"
    having = state.partial.get(name)
    if having is None:
        message = versions.lost_message(dotted, state.generated_from)
    else:
        message = versions.absent_message(dotted, having)
    return AttributeError(message, name=name, obj=state.source)


def _mirrored(module: ModuleType) -> ModuleType:
    """Return the ``tdev`` counterpart of a torch module; modules of other packages stand for themselves."""
    name = module.__name__
    if name != "torch" and not name.startswith("torch."):
        return module
    if sys.modules.get(name) is not module:
        return module  # only registered modules can be imported by name
    return importlib.import_module("tdev" + name[len("torch") :])
