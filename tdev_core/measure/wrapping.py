"""Wraps methods for a while, and takes the wrappers off again, in whatever order they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tdev_core.errors import uncounted

__all__ = ["wrap"]


@dataclass
class _Wrapper:
    """The function that one wrapper covers."""

    plain: Any
    inherited: bool
    itself: Any = None
    over: bool = False


def wrap(owner: Any, name: str, wrapper: Callable[..., Any]) -> Callable[[], None]:
    """Have ``wrapper(plain, this, …)`` answer calls of a method; returns what ends that.

    What is compiled has the plain method: nobody watches there.
    """
    from torch.compiler import is_compiling

    plain = getattr(owner, name)
    mine = _Wrapper(plain, name not in vars(owner))

    def wrapping(this: Any, *args: Any, **kwargs: Any) -> Any:
        if mine.over or is_compiling():
            return plain(this, *args, **kwargs)
        return wrapper(plain, this, *args, **kwargs)

    def undo() -> None:
        mine.over = True
        # One that is covered by another stays where it is, does nothing, and goes with that.
        while (top := _wrapper(vars(owner).get(name))) is not None and top.over:
            if top.inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, top.plain)

    mine.itself = wrapping
    wrapping.__name__ = name
    vars(wrapping).update({"__wrapped__": plain, _MARK: mine})  # `inspect.signature` looks there
    uncounted(wrapper)
    setattr(owner, name, uncounted(wrapping))
    return undo


_MARK = "_tdev_wrapper"


def _wrapper(function: Any) -> _Wrapper | None:
    """Return what a function of ours covers; others may have its attributes, by ``functools.wraps``."""
    found: _Wrapper | None = getattr(function, _MARK, None)
    return found if found is not None and found.itself is function else None
