"""``torch`` and ``mlx.core`` under names that import nothing until they are used.

The operator table (:mod:`tdev_core.accelerators.mlx.table`) must be readable where neither package is installed, yet
it lives in the same modules as the kernels.  An attribute is looked up in the real module once and then
kept on the proxy, so that a kernel pays an ordinary attribute access.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["mx", "np", "torch"]


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

    mx: Any
    np: Any
else:
    mx = _Lazy("mlx.core")
    np = _Lazy("numpy")
    torch = _Lazy("torch")
