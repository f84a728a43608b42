"""A torch other than the mirror's, newer as a rule: what it has besides in the packages that answer for a device.

The mirror cannot know what such a name means off CUDA. torch's own object would ask for a driver that is not there,
or make up an answer (``torch.cuda.gds.is_available()`` was true on a laptop). It is refused when it is called, so
that a program that only imports it, or asks whether it is there, goes on.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tdev_core.backend import Backend, current, unsupported
from tdev_core.devices import translate
from tdev_core.mirror import versions
from tdev_core.shims import install

__all__ = ["answer", "answers_for_device", "with_newer_parameters"]

# Packages whose functions are about one kind of device, and the backend on which they are torch's own.
_HOMES: Mapping[str, Backend | None] = {
    "torch.cuda": Backend.CUDA,
    "torch.accelerator": Backend.CUDA,
    "torch.mps": Backend.MPS,
    "torch.xpu": None,
    "torch.mtia": None,
}


def answers_for_device(module: str) -> bool:
    """Tell whether ``module`` belongs to a package that answers for a device that is not this backend's."""
    package = ".".join(module.split(".")[:2])
    return package in _HOMES and _HOMES[package] is not current()


def answer(module: str, name: str, value: Any, generated_from: str) -> Any:
    """Return what stands for ``value``, which the installed torch, not the mirror's, has as ``name`` in ``module``.

    A function or class of a package for a device that the mirror has never seen is refused when it is called. What
    takes a ``device`` in any other mirrored module has it translated: a function is wrapped; a class (most releases
    bring one to ``torch.nn``) keeps its identity and has its constructor replaced, as those have that the mirror knows.
    Everything else is torch's own.
    """
    if name.startswith("_") or name in versions.known_names(module):
        return value
    home = getattr(value, "__module__", None) or module
    if answers_for_device(module) and answers_for_device(home):
        if isinstance(value, type):
            return _refused_class(value, f"{module}.{name}", generated_from)
        if inspect.isroutine(value):
            return _refused(value, f"{module}.{name}", generated_from)
        return value
    if "._" not in module and answers_for_device("torch.cuda"):
        if isinstance(value, type):
            _translate_constructor(value)
        elif inspect.isroutine(value) and _takes_device(value):
            return _translated(value)
    return value


def with_newer_parameters(function: Any, original: Any, dotted: str, generated_from: str) -> Any:
    """Return ``function`` with the parameters that the installed torch's ``original`` has beyond its own.

    One that is given is handed on where ``function`` calls torch's own, its device translated; elsewhere it is refused
    by name: what it asks for may be what keeps the program safe.
    """
    newer = _beyond(function, original)
    if not newer:
        return function
    hands_on = dotted in versions.translated_names()
    translated = _translated(original)

    @functools.wraps(function)
    def wider(*args: Any, **kwargs: Any) -> Any:
        given = sorted(newer & kwargs.keys())
        if not given:
            return function(*args, **kwargs)
        if hands_on:
            return translated(*args, **kwargs)
        _refuse(f"{dotted}({given[0]}=…)", generated_from)

    wider.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return wider


def _beyond(function: Any, original: Any) -> frozenset[str]:
    """Return the parameters of ``original`` that ``function`` does not take; none where either is not to be read."""
    try:
        own = inspect.signature(function).parameters
        theirs = inspect.signature(original).parameters
    except (TypeError, ValueError):
        return frozenset()
    if isinstance(function, type) or any(p.kind is p.VAR_KEYWORD for p in own.values()):
        return frozenset()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(name for name, p in theirs.items() if p.kind in named and name not in own)


def _takes_device(value: Any) -> bool:
    try:
        return "device" in inspect.signature(value).parameters
    except (TypeError, ValueError):
        # A builtin says so in the first line of its documentation only.
        first = (value.__doc__ or "").strip().partition("\n")[0]
        return re.search(r"\(.*\bdevice\b.*\)", first) is not None


def _translate_constructor(value: type) -> None:
    owner = f"{value.__module__}.{value.__qualname__}"
    if getattr(sys.modules.get(value.__module__), value.__qualname__, None) is not value:
        return
    if owner.startswith("torch.") and _takes_device(value.__init__):
        install.add(install.Shim(owner, "__init__", factory="tdev_core.shims.generic:by_signature"))


def _translated(original: Any) -> Callable[..., Any]:
    try:
        parameters = inspect.signature(original).parameters.values()
    except (TypeError, ValueError):  # a builtin, whose device is a keyword
        positional: list[str] = []
    else:
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    place = positional.index("device") if "device" in positional else None

    @functools.wraps(original)
    def translated(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = translate(kwargs["device"])
        elif place is not None and place < len(args):
            args = (*args[:place], translate(args[place]), *args[place + 1 :])
        return original(*args, **kwargs)

    return translated


def _refused(value: Any, dotted: str, generated_from: str) -> Callable[..., Any]:
    @functools.wraps(value)
    def refused(*_: Any, **__: Any) -> Any:
        _refuse(dotted, generated_from)

    return refused


def _refused_class(value: type, dotted: str, generated_from: str) -> type:
    def refused(cls: type, *_: Any, **__: Any) -> Any:
        _refuse(dotted, generated_from)

    try:
        return type(value.__name__, (value,), {"__new__": refused, "__module__": value.__module__})
    except TypeError:  # one that cannot be derived from
        return value


def _refuse(what: str, generated_from: str) -> None:
    unsupported(
        what,
        f"it is newer than this mirror, which was generated from torch {generated_from}, so that what it means here is not "
        "known",
        "regenerate the mirror against the installed torch (nox -s upgrade), or call torch's own",
        "TDEV102",
    )
