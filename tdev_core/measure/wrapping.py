"""Wraps methods for a while, and takes the wrappers off again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.errors import uncounted

__all__ = ["wrap"]


def wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> Callable[[], None]:
    """Have ``wrapper(plain, this, …)`` answer calls of a method; returns what ends that.

    What is compiled has the plain method: nobody watches there.
    """
    from torch.compiler import is_compiling

    inherited = name not in vars(owner)
    plain = getattr(owner, name)

    def wrapping(this: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return plain(this, *args, **kwargs)
        return wrapper(plain, this, *args, **kwargs)

    def undo() -> None:
        if vars(owner).get(name) is not wrapping:
            return  # somebody has replaced it since
        if inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, plain)

    wrapping.__name__ = name
    vars(wrapping)["__wrapped__"] = plain  # where `inspect.signature` looks
    uncounted(wrapper)
    setattr(owner, name, uncounted(wrapping))
    return undo
