"""Shim for the constructor of untyped storages, which is C and takes its device among ``**kwargs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.devices import translate

__all__ = ["untyped_new"]


def untyped_new(original: Callable[..., Any]) -> Callable[..., Any]:
    """``UntypedStorage(…, device=…)`` on the translated device."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = translate(kwargs["device"])
        return original(cls, *args, **kwargs)

    return __new__
