"""Counters of what was called and what fell back, which :mod:`tdev_core.mirror.report` makes a report of.

Counting costs nothing while it is off: only with ``TDEV_REPORT=1`` do mirrors hand out counting
wrappers. Fallbacks are always noted, since each is slow anyway.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tdev_core import settings
from tdev_core.errors import calling, is_of_torch, uncounted

__all__ = ["answered", "calls", "counted", "enabled", "fallbacks", "note_fallback"]

calls: Counter[str] = Counter()
"""Calls by function."""

answered: set[str] = set()
"""Functions that were called and came back without an error."""

fallbacks: Counter[str] = Counter()
"""Operations that left the accelerator for the CPU, by operator."""

_counting = threading.Lock()
_answering = threading.local()


@functools.lru_cache(maxsize=1)
def enabled() -> bool:
    """Tell whether ``TDEV_REPORT`` asks for counting."""
    return settings.flag("TDEV_REPORT")


def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``function`` with its calls counted under ``name``.

    What torch or tdev calls while it answers a call that is counted (``Tensor.to`` for ``Module.cuda``) is
    no call of the program's. What a compiled graph holds is counted nowhere: no Python runs there.
    """

    from torch.compiler import is_compiling  # not at the top: the codemod runs without torch

    @functools.wraps(function)
    def counting(*args: Any, **kwargs: Any) -> Any:
        if is_compiling():
            return function(*args, **kwargs)
        nested = getattr(_answering, "nested", False)
        if not (nested and is_of_torch(calling(sys._getframe(1)))):
            with _counting:
                calls[name] += 1
        _answering.nested = True
        try:
            answer = function(*args, **kwargs)
        finally:
            _answering.nested = nested
        answered.add(name)
        return answer

    return uncounted(counting)


def note_fallback(name: str) -> None:
    """Count one operation that left the accelerator for the CPU."""
    with _counting:
        fallbacks[name] += 1
