"""Calls that need nothing of tdev go past its wrapper, by a module in C where there is one.

A wrapper says with :func:`passing` which of its calls torch's own function may answer as they are. Where
the C module has been compiled, which installing tdev does if it finds a compiler, :func:`function` and
:func:`method` put an object before the wrapper that sends these calls on; the wrapper gets all others.
Without the module every call is the wrapper's, with the same answer. ``TDEV_C_CALLS=0`` leaves it out.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, CodeType, MethodDescriptorType, ModuleType
from typing import Any, NamedTuple, TypeVar

from tdev_core import settings
from tdev_core.errors import warn_once
from tdev_core.metrics import counters

__all__ = ["Leading", "device_getter", "function", "kinds", "method", "passing", "state"]

F = TypeVar("F", bound=Callable[..., Any])

SOURCE = Path(__file__).with_name("_calls.c")
_MARK = "__tdev_passing__"


class Leading(NamedTuple):
    """The meaning that a method gives the first argument after ``self``, which says where the tensor is to go.

    Attributes:
        targets: what stands for it, by value. The wrapper sees a call with any other, and may add that.
        copied: those values for which the method is to copy, but for a leaf that requires grad.
        parameter: its name, where the value may be given by that.
        implied: the value that a call without that argument means; None where it means none.
        original: the method to call, where it is another than the one that is wrapped.
        accepted: if it is, the arguments that it takes by name with the same meaning.
        moved: the marks of ``moved``, which say of a tensor that it need not be copied, and of the result
            where it has gone; None where moves do not copy.
        overridden: if ``original`` is another method, what tells that somebody is to be told of this one.
    """

    targets: dict[Any, Any]
    copied: set[Any]
    parameter: str = ""
    implied: str | None = None
    original: Any = None
    accepted: tuple[str, ...] = ()
    moved: dict[int, Any] | None = None
    overridden: Any = None


class _Passing(NamedTuple):
    code: CodeType  # whose terms these are: functools.wraps hands attributes on to functions of other code
    translated: tuple[str, ...]
    seen: tuple[str, ...]
    most: int
    leading: Leading | None


def passing(
    *translated: str,
    seen: tuple[str, ...] = (),
    most: int | None = None,
    leading: Leading | None = None,
) -> Callable[[F], F]:
    """Say of a wrapper which of its calls torch's function may answer without it.

    Args:
        translated: arguments with which, given by name, the wrapper does nothing but translate them, each
            by its :func:`tdev_core.devices.translator`.
        seen: arguments that the wrapper wants to see when they are given by name.
        most: the number of positional arguments, ``self`` included, above which it wants to see the call.
        leading: for methods whose first argument says where the tensor is to go.
    """

    def mark(wrapper: F) -> F:
        code: CodeType = wrapper.__code__
        terms = _Passing(code, translated, seen, -1 if most is None else most, leading)
        setattr(wrapper, _MARK, terms)
        return wrapper

    return mark


def function(wrapper: Any, original: Any, module: ModuleType, name: str) -> Any:
    """Return what stands for ``module.name``, a function of torch: ``wrapper``, or a callable before it.

    Torch's function is looked up at each call, as the wrapper does: a program may replace it for a while.
    """
    if not isinstance(original, BuiltinFunctionType):
        return wrapper  # what stands for a Python function is one
    return _before("Function", wrapper, (module.__dict__, name))


def method(wrapper: Any, original: Any) -> Any:
    """Return what stands for ``original``, a method of a class of torch's: ``wrapper``, or a callable before it."""
    if not isinstance(original, MethodDescriptorType):
        return wrapper
    return _before("Method", wrapper, original)


def kinds() -> tuple[type, ...]:
    """Return the class of what :func:`function` puts before wrappers, and that of :func:`method`.

    ``__tdev_wrapper__`` of such an object is its wrapper.
    """
    module = _module()
    return () if module is None else (module.Function, module.Method)


def state() -> str:
    """In a few words, for a person: whether calls go through C or through Python."""
    if not settings.flag("TDEV_C_CALLS"):
        return "Python (TDEV_C_CALLS=0)"
    if counters.enabled():
        return "Python (TDEV_REPORT=1 counts them)"
    if not _locked():
        return "Python (the C module relies on the global interpreter lock, which this Python does without)"
    if _module() is None:
        return "Python (slower; C is compiled where tdev is installed with a C compiler at hand)"
    return "C"


def device_getter() -> Any:
    """Return the class in C that stands for ``Tensor.device`` where moves are marked; None without the module."""
    module = _module()
    return None if module is None else module.DeviceGetter


def _before(kind: str, wrapper: Any, original: Any) -> Any:
    terms: _Passing | None = getattr(wrapper, _MARK, None)
    if terms is None or terms.code is not wrapper.__code__ or (module := _module()) is None:
        return wrapper
    from tdev_core.devices import KNOWN_TYPES, THERE, known, translator  # which imports torch

    keywords: dict[str, Any] = {name: known(translator(name)) for name in terms.translated}
    keywords |= dict.fromkeys(terms.seen)
    make = getattr(module, kind)
    leading = terms.leading
    if leading is None:
        return make(wrapper, original, keywords, KNOWN_TYPES, terms.most)
    if leading.parameter:
        keywords[leading.parameter] = leading.targets
    keywords |= dict.fromkeys(leading.accepted, True)
    simple = tuple(dict.fromkeys((*map(type, leading.targets), *KNOWN_TYPES)))
    there = THERE if leading.moved is not None else None
    where = (
        leading.targets,
        leading.copied,
        leading.implied,
        leading.moved,
        there,
        leading.overridden,
    )
    return make(wrapper, leading.original or original, keywords, simple, terms.most, *where)


def _locked() -> bool:
    """Tell whether this Python was built with the global interpreter lock.

    Where it was not, importing a module that relies on the lock would switch it on for the whole program.
    Source: "Python support for free threading", which gives this test and one of ``sysconfig``, which takes 10 ms.
    """
    return "free-threading build" not in sys.version


@functools.cache
def _module() -> Any:
    """Return the C module; None where it is switched off, was not compiled, was compiled from another source, or has no lock."""
    if not settings.flag("TDEV_C_CALLS") or not _locked():
        return None
    try:
        from tdev_core.shims import _calls  # type: ignore[attr-defined]
    except ImportError:
        return None
    try:
        source = SOURCE.read_bytes()
    except OSError:  # bundled without its sources, which therefore cannot have changed
        return _calls
    if _calls.SOURCE != hashlib.sha256(source).hexdigest():
        warn_once(
            f"{_calls.__file__} was compiled from another {SOURCE.name} and is not used, so that calls take longer. "
            "Install tdev again: pip install -e . where it was installed from a clone",
            RuntimeWarning,
            key=SOURCE,
        )
        return None
    return _calls
