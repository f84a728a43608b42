"""``torch``, ``mlx.core`` and tdev's own way to torch's private parts, under names that import nothing until they are used.

The operator table (:mod:`tdev_core.accelerators.mlx.table`) must be readable where neither package is installed, yet
it lives in the same modules as the kernels.  An attribute is looked up in the real module once and then
kept on the proxy, so that a kernel pays an ordinary attribute access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["mx", "np", "torch", "torch_api"]


class _Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import torch

    from tdev_core.accelerators.privateuse import torch_api

    mx: Any
    np: Any
else:
    mx = _Lazy("mlx.core")
    np = _Lazy("numpy")
    torch = _Lazy("torch")
    torch_api = _Lazy("tdev_core.accelerators.privateuse.torch_api")
