"""Counters of what was called and what fell back, which :mod:`tdev_core.mirror.report` makes a report of.

Counting costs nothing while it is off: only with ``TDEV_REPORT=1`` do mirrors hand out counting
wrappers. Fallbacks are always noted, since each is slow anyway.
"""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from tdev_core import settings
from tdev_core.errors import uncounted

__all__ = ["answered", "calls", "counted", "enabled", "fallbacks", "note_fallback"]

calls: Counter[str] = Counter()
"""Calls by function."""

answered: set[str] = set()
"""Functions that were called and came back without an error."""

fallbacks: Counter[str] = Counter()
"""Operations that left the accelerator for the CPU, by operator."""

_counting = threading.Lock()


@functools.lru_cache(maxsize=1)
def enabled() -> bool:
    """Tell whether ``TDEV_REPORT`` asks for counting."""
    return settings.flag("TDEV_REPORT")


def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``function`` with its calls counted under ``name``."""

    @functools.wraps(function)
    def counting(*args: Any, **kwargs: Any) -> Any:
        with _counting:
            calls[name] += 1
        answer = function(*args, **kwargs)
        answered.add(name)
        return answer

    return uncounted(counting)


def note_fallback(name: str) -> None:
    """Count one operation that left the accelerator for the CPU."""
    with _counting:
        fallbacks[name] += 1
