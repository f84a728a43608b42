"""Shims: device translation for what cannot be mirrored by a name.

``x.cuda()``, ``model.to("cuda")`` or ``nn.Linear(2, 3, device="cuda")`` reach torch's classes without
passing through ``tdev``. Where CUDA is not native, importing ``tdev`` therefore replaces exactly the
methods and constructors of a static, generated list; :func:`uninstall` puts back what was there.
Module-level functions of torch are never touched.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterable
from types import MethodDescriptorType, ModuleType
from typing import Any, NamedTuple

from tdev_core import settings
from tdev_core.backend import Backend, current
from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on
from tdev_core.metrics import counters
from tdev_core.shims import calls, moved, safetensors_files
from tdev_core.shims.generic import translating

__all__ = ["Shim", "add", "install", "installed", "replaced_descriptors", "uninstall", "wanted"]

_MISSING = object()


class Shim(NamedTuple):
    """One attribute to replace.

    Attributes:
        owner: dotted path of the class, ``torch.nn.modules.linear.Linear``.
        name: the attribute, ``__init__``.
        devices: parameters that are devices, each with its position among the positional arguments
            (``self`` not counted), or None where it is keyword-only.
        factory: ``module:function`` that makes the replacement from the original, for methods that
            need more than translated arguments; empty for those that do not.
    """

    owner: str
    name: str
    devices: tuple[tuple[str, int | None], ...] = ()
    factory: str = ""

    @property
    def module(self) -> str:
        """The module that defines the class."""
        return self.owner.rpartition(".")[0]

    @property
    def dotted(self) -> str:
        """The full name of the attribute, as the catalog has it."""
        return f"{self.owner}.{self.name}"


class _Installed(NamedTuple):
    shim: Shim
    owner: type
    before: object  # what the class's own __dict__ held; _MISSING where it inherited the attribute
    after: object


_lock = threading.RLock()
_installed: list[_Installed] = []
_waiting: dict[str, list[Shim]] = {}


def wanted() -> bool:
    """Tell whether this process should have shims: CUDA is not native and ``TDEV_SHIMS`` is not off."""
    return current() is not Backend.CUDA and settings.flag("TDEV_SHIMS")


def installed() -> tuple[str, ...]:
    """Full names of the attributes that are replaced right now."""
    with _lock:
        return tuple(entry.shim.dotted for entry in _installed)


def replaced_descriptors(owner: type) -> list[tuple[str, Any]]:
    """Return the methods of ``owner`` that stand for methods in C, each with its name, as they are right now."""
    with _lock:
        return [
            (entry.shim.name, entry.after)
            for entry in _installed
            if entry.owner is owner
            and isinstance(getattr(entry.after, "__wrapped__", None), MethodDescriptorType)
        ]


def install(shims: Iterable[Shim]) -> None:
    """Replace the attributes of ``shims``; those already replaced are left as they are.

    Classes in modules that are not imported yet are replaced when they are, so that nothing is
    imported for its shims. Attributes that the installed torch lacks are passed over: a mirror
    generated from one torch must import on another.
    """
    with _lock:
        present = set(installed())
        _waiting.clear()
        for shim in shims:
            module = sys.modules.get(shim.module)
            if module is None:
                _waiting.setdefault(shim.module, []).append(shim)
            elif shim.dotted not in present:
                _replace(shim, module)
        when_imported([*_waiting], _imported)
        safetensors_files.install()
        moved.install()


def add(shim: Shim) -> None:
    """Replace one attribute more, of a class that is imported; nothing happens where it is replaced."""
    with _lock:
        if wanted() and shim.dotted not in installed():
            _replace(shim, sys.modules[shim.module])


def _imported(module: ModuleType) -> None:
    """Replace what waited for ``module``; nothing where the shims have been uninstalled since."""
    with _lock:
        for shim in _waiting.pop(module.__name__, ()):
            _replace(shim, module)


def _replace(shim: Shim, module: ModuleType) -> None:
    if "._" not in shim.dotted.replace(".__", "."):
        _exchange(shim, module)
        return
    with relying_on(shim.dotted, f"{shim.dotted} takes devices as torch does"):
        _exchange(shim, module)


def _exchange(shim: Shim, module: ModuleType) -> None:
    owner = getattr(module, shim.owner.rpartition(".")[2], None)
    if not isinstance(owner, type) or not hasattr(owner, shim.name):
        return
    before = owner.__dict__.get(shim.name, _MISSING)
    after = _replacement(shim, owner, before)
    setattr(owner, shim.name, after)
    _installed.append(_Installed(shim, owner, before, after))


def uninstall() -> None:
    """Restore every replaced attribute to the very object that was there before.

    An attribute that somebody else has replaced on top of ours in the meantime is left alone, with
    its wrapper around our shim; undoing it would drop their change.
    """
    with _lock:
        _waiting.clear()
        safetensors_files.uninstall()
        moved.uninstall()
        while _installed:
            entry = _installed.pop()
            if entry.owner.__dict__.get(entry.shim.name) is not entry.after:
                continue
            if entry.before is _MISSING:
                delattr(entry.owner, entry.shim.name)
            else:
                setattr(entry.owner, entry.shim.name, entry.before)


def _replacement(shim: Shim, owner: type, before: object) -> Any:
    """Return what takes the place of ``before``: of the same kind, so that binding goes on as it did."""
    if isinstance(before, list):
        return _factory(shim)(before)
    if isinstance(before, staticmethod):
        return staticmethod(_made(shim, before.__func__, bound=shim.name == "__new__"))
    if isinstance(before, classmethod):
        return classmethod(_made(shim, before.__func__, bound=True))
    return _made(shim, getattr(owner, shim.name), bound=True)


def _factory(shim: Shim) -> Callable[..., Any]:
    module, _, function = shim.factory.partition(":")
    made: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return made


def _made(shim: Shim, original: Callable[..., Any], *, bound: bool) -> Callable[..., Any]:
    replacement: Callable[..., Any]
    if shim.factory:
        replacement = _factory(shim)(original)
    else:
        replacement = translating(original, shim.devices, bound=bound)
    for attribute in ("__doc__", "__name__", "__qualname__", "__module__", "__annotations__"):
        try:
            setattr(replacement, attribute, getattr(original, attribute))
        except (AttributeError, TypeError):
            pass  # descriptors of C types lack some of these
    if isinstance(original, MethodDescriptorType):
        # torch's is pickled as an attribute of torch._C.TensorBase; ours is not to be found there.
        replacement.__module__ = shim.module
        replacement.__qualname__ = shim.dotted[len(shim.module) + 1 :]
    replacement.__wrapped__ = original  # type: ignore[attr-defined]  # read by inspect.signature
    if counters.enabled():
        replacement = counters.counted(replacement, shim.dotted)
    made: Callable[..., Any] = calls.method(replacement, original)
    return made
