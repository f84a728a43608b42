"""``safetensors``: files opened for the accelerator.

``safetensors.safe_open(path, "pt", device=…)``, which ``load_file`` and ``load_model`` call, knows
devices by a list of its own: ``sim`` and ``mlx`` are not on it, and for ``cuda`` it asks torch for
pinned memory. Such a file is opened for the CPU, and each tensor moves as it is read. What is CUDA's
own name goes through :func:`tdev_core.devices.translate`, like a shimmed method's argument.

The class is compiled and takes no attributes, so that another one stands in its place.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from tdev_core.devices import translate
from tdev_core.import_hooks import when_imported

__all__ = ["install", "uninstall"]

_MODULES = ("safetensors", "safetensors.torch")
_OURS = ("sim", "mlx")
_active = False


def install() -> None:
    """Have ``safe_open`` understand devices, now or when the library is imported."""
    global _active
    if not _active:
        _active = True
        when_imported(_MODULES, _arrived)


def uninstall() -> None:
    """Put the library's own class back, and look for it no more."""
    global _active
    _active = False
    for name in _MODULES:
        module: Any = sys.modules.get(name)
        original = getattr(getattr(module, "safe_open", None), "_tdev_original", None)
        if original is not None:
            module.safe_open = original


def _arrived(module: Any) -> None:
    # The second module takes the class from the first, mostly after it was replaced there.
    original = getattr(module, "safe_open", None)
    if _active and original is not None and not hasattr(original, "_tdev_original"):
        module.safe_open = _opener(original)


class _AlsoTheOriginal(type):
    """``isinstance(file, safe_open)`` is true of what either class made."""

    _tdev_original: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, (cls._tdev_original, _Opened))


def _opener(original: Any) -> type:
    def __new__(cls: type, filename: Any, framework: str, device: Any = "cpu", **named: Any) -> Any:
        here = translate(device)
        kind = here.type if isinstance(here, torch.device) else None
        if kind in _OURS:
            return _Opened(original(filename, framework, "cpu", **named), here)
        known = kind is None or str(here) == str(device)
        return original(filename, framework, device if known else kind, **named)

    space = {
        "__new__": __new__,
        "__doc__": original.__doc__,
        "__module__": original.__module__,
        "_tdev_original": original,
    }
    return _AlsoTheOriginal("safe_open", (), space)


class _Opened:
    """A file opened for the CPU whose tensors are read to ``device``."""

    def __init__(self, file: Any, device: torch.device) -> None:
        self._file, self._device = file, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Opened:
        self._file.__enter__()
        return self

    def __exit__(self, *exc_info: Any) -> Any:
        return self._file.__exit__(*exc_info)

    def get_tensor(self, name: str) -> Any:
        """Return the tensor called ``name``, on the device."""
        return _moved(self._file.get_tensor(name), self._device)

    def get_tensors(self) -> dict[str, Any]:
        """Return all tensors by name, on the device."""
        found = self._file.get_tensors()
        return {name: _moved(tensor, self._device) for name, tensor in found.items()}

    def get_slice(self, name: str) -> _Slice:
        """Return the tensor called ``name``, of which only what is indexed is read."""
        return _Slice(self._file.get_slice(name), self._device)


class _Slice:
    def __init__(self, part: Any, device: torch.device) -> None:
        self._part, self._device = part, device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def __getitem__(self, index: Any) -> Any:
        return _moved(self._part[index], self._device)


def _moved(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value
