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
from types import FunctionType, ModuleType
from typing import Any

import torch

from tdev_core import report
from tdev_core.backend import Backend, current

__all__ = ["AliasFinder", "MirrorModule", "adopt", "install_finder"]

_STATE = "__tdev_mirror__"
_MISSING = object()


class _State:
    """What a mirror knows about itself."""

    __slots__ = ("elsewhere", "generated_from", "lost", "routed", "source", "tools")

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


class MirrorModule(ModuleType):
    """A module whose own names are the routed ones; all others are its torch module's."""

    def __getattr__(self, name: str) -> Any:
        state: _State = self.__dict__[_STATE]
        home = state.elsewhere.get(name)
        if home is not None:
            module, _, attribute = home.partition(":")
            try:
                value = getattr(importlib.import_module(module), attribute)
            except AttributeError as error:
                # An AttributeError from here would read as "torch has no such name".
                raise ImportError(f"{module} could not be loaded: {error}", name=module) from error
            self.__dict__[name] = value
            return value
        if name in state.lost:
            raise AttributeError(_lost_message(f"{state.source.__name__}.{name}", state))
        value = getattr(state.source, name, _MISSING)
        if value is _MISSING:
            if name in state.tools:
                return importlib.import_module(f"{self.__name__}.{name}")
            raise AttributeError(
                f"module {state.source.__name__!r} has no attribute {name!r}",
                name=name,
                obj=state.source,
            )
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
        if own_submodule and state is not None and _hides_submodule(state, name):
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


def _hides_submodule(state: _State, name: str) -> bool:
    """Whether torch binds something else than its submodule under ``name``.

    ``torch.nn.parallel.replicate`` is the function of the module of that name; the import system,
    which binds every submodule it imports, must not take it away.
    """
    return not isinstance(getattr(state.source, name, None), (ModuleType, type(None)))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _lost_message(dotted: str, state: _State) -> str:
    return (
        f"torch {torch.__version__} has no {dotted!r}; this mirror was generated from torch "
        f"{state.generated_from}. Install that torch, or regenerate the mirror against the installed "
        "one: python -m generator"
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
    original_module = importlib.import_module(source)
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
            _dress(namespace, key, original)
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


def _dress(namespace: dict[str, Any], key: str, original: Any) -> None:
    """Give a wrapper the documentation and signature of what it wraps.

    ``__module__`` stays the mirror's: pickle finds the wrapper again by that name.
    """
    wrapper = namespace[key]
    if not isinstance(wrapper, FunctionType):
        return
    wrapper.__doc__ = original.__doc__
    wrapper.__wrapped__ = original  # type: ignore[attr-defined]  # read by inspect.signature
    if isinstance(original, FunctionType):
        wrapper.__annotations__ = original.__annotations__
    if report.enabled():
        namespace[key] = report.counted(wrapper, f"{original.__module__}.{key}")


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

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self.prefix) or fullname in self.own:
            return None
        name = "torch." + fullname[len(self.prefix) :]
        if sys.modules.get(name) is None:
            try:
                if importlib.util.find_spec(name) is None:
                    return None
            except (ModuleNotFoundError, ValueError):
                return None
        return ModuleSpec(fullname, _AliasLoader(name))


class _AliasLoader(Loader):
    def __init__(self, name: str) -> None:
        self.name = name

    def exec_module(self, module: ModuleType) -> None:
        # Importlib takes from sys.modules what the loader left there: torch's own module object,
        # whose __spec__ and __name__ thereby stay untouched.
        sys.modules[module.__name__] = importlib.import_module(self.name)
        _register_loaded(module.__name__.partition(".")[0])


def _register_loaded(package: str) -> None:
    """Give every torch module that is loaded its second name.

    After loading a submodule, the import system binds it on its package, which for an alias is
    torch's own: where torch has bound a function under that name, it would be lost. What is already
    in ``sys.modules`` is not bound again.
    """
    finder = next(
        entry
        for entry in sys.meta_path
        if isinstance(entry, AliasFinder) and entry.prefix == package + "."
    )
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.") and isinstance(module, ModuleType):
            alias = finder.prefix + name[len("torch.") :]
            if alias not in finder.own:
                sys.modules.setdefault(alias, module)


def install_finder(package: str, own: Iterable[str]) -> None:
    """Put the :class:`AliasFinder` of ``package`` first on ``sys.meta_path``, once.

    First, because a package that is torch's own carries torch's ``__path__``: the ordinary finder
    would run torch's files a second time under another name.
    """
    for finder in list(sys.meta_path):
        if isinstance(finder, AliasFinder) and finder.prefix == package + ".":
            sys.meta_path.remove(finder)
    sys.meta_path.insert(0, AliasFinder(package, own))
    _register_loaded(package)
