"""Errors and warnings of tdev, and the one place that says how they are worded and how often."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, NoReturn, TypeVar

__all__ = [
    "ConfigError",
    "DeviceWarning",
    "FallbackWarning",
    "InternalsWarning",
    "TdevError",
    "UnsupportedError",
    "calling",
    "exit_with",
    "heed_interrupts",
    "hush_interrupts",
    "is_of_torch",
    "listen",
    "no_memory",
    "outside",
    "uncounted",
    "warn",
    "warn_once",
]


class TdevError(RuntimeError):
    """Base of every error that tdev raises itself."""


class ConfigError(TdevError):
    """A setting (``TDEV_BACKEND``, ``TDEV_CUDA_AVAILABLE``, …) that cannot be honoured."""


class UnsupportedError(TdevError, NotImplementedError):
    """A function that has no true answer on the active backend.

    Programs that probe for a feature catch ``NotImplementedError`` or ``RuntimeError``; both work.

    Attributes:
        code: its number; ``python -m tdev explain`` says what it means.
    """

    def __init__(self, message: str = "", code: str = "") -> None:
        super().__init__(message)
        self.code = code
        _tell(type(self).__name__, code, message)

    def __str__(self) -> str:
        return _numbered(super().__str__(), self.code)


def _numbered(message: str, code: str) -> str:
    return f"{message} [{code}]" if code else message


def no_memory(device: str, why: str) -> str:
    """Return the text of an ``OutOfMemoryError``, in the words that programs look for before they try less.

    Many ask ``"CUDA out of memory" in str(error)``, libraries among them that nobody migrates.
    """
    return f"CUDA out of memory. {why} CUDA's device is {device} here."


class _NumberedWarning(UserWarning):
    """Base of the warnings that have a number, ``code``; ``python -m tdev explain`` says what it means."""

    def __init__(self, message: str = "", code: str = "") -> None:
        super().__init__(message)
        self.code = code

    def __str__(self) -> str:
        return _numbered(super().__str__(), self.code)


class FallbackWarning(_NumberedWarning):
    """An operation left the accelerator, ran on the CPU and came back."""


class DeviceWarning(_NumberedWarning):
    """A device was not taken literally: an index was folded, or a CUDA-only option does nothing."""


class InternalsWarning(_NumberedWarning):
    """A private part of torch that tdev relies on is not what it was; the text says what does not work then."""


F = TypeVar("F", bound=Callable[..., Any])

_warned: set[object] = set()
_listeners: list[Callable[[str, str, str], None]] = []


def listen(listener: Callable[[str, str, str], None]) -> Callable[[], None]:
    """Have ``listener(class, code, message)`` called for each error and warning of ours; returns what ends that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def _tell(kind: str, code: str, message: str) -> None:
    for listener in tuple(_listeners):
        listener(kind, code, message)


_uncounted: set[CodeType] = set()


def warn_once(
    message: str,
    category: type[Warning],
    *,
    code: str = "",
    key: object = None,
    stacklevel: int = 2,
) -> None:
    """Warn once for each ``key``; without a key, once for each call site. tdev's own categories take a ``code``.

    Python's own once-per-location registry is reset by every change to the filters (which test
    runners make for each test), and it keys by message text; ours does neither. ``stacklevel``
    counts as in :func:`warnings.warn`, seen from the caller of this function.
    """
    level = _level(stacklevel)
    if key is None:
        frame = sys._getframe(level)
        key = (frame.f_code.co_filename, frame.f_lineno)
    mark = (category, key)
    if mark in _warned:
        return
    _tell(category.__name__, code, message)
    # Warn first: under `-W error` the warning raises, and is due again at the next call.
    warnings.warn(category(message, code) if code else message, category, stacklevel=level + 1)
    _warned.add(mark)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the program's line, each time: what torch says there on other devices."""
    warnings.warn(message, category, stacklevel=_level(1) + 1)


def uncounted(function: F) -> F:
    """``function``, a wrapper that only watches, whose frame no ``stacklevel`` of ours counts."""
    code: CodeType = function.__code__
    _uncounted.add(code)
    return function


def calling(frame: FrameType) -> FrameType:
    """``frame``, or the first around it whose function does more than watch."""
    while frame.f_code in _uncounted and frame.f_back is not None:
        frame = frame.f_back
    return frame


def outside() -> int:
    """Return the ``stacklevel`` of the code that called tdev, for the function that calls :func:`warn_once`."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += frame.f_code not in _uncounted
    return level


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("tdev", "tdev_core")


def _level(stacklevel: int) -> int:
    """``stacklevel`` as the interpreter counts, from the caller; the outermost frame at most.

    Where that is no line of the program's, but torch's code, ours or the import system's, the next line that is.
    """
    frame, level = sys._getframe(1), 0
    while frame.f_back is not None:
        frame, level = frame.f_back, level + 1
        stacklevel -= frame.f_code not in _uncounted
        if not stacklevel:
            break
    asked = level
    while _is_between(frame):
        if frame.f_back is None:
            return asked  # a thread of torch's, an import by the interpreter
        frame, level = frame.f_back, level + 1
    return level


def _is_between(frame: FrameType) -> bool:
    """Tell whether a frame stands between a program and what warns it."""
    return (
        is_of_torch(frame)
        or frame.f_globals.get("__name__") == "contextlib"
        or frame.f_code.co_filename.startswith("<frozen importlib")
    )


def is_of_torch(frame: FrameType) -> bool:
    """Tell whether a frame is of torch's code or tdev's."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "tdev", "tdev_core")


def exit_with(error: TdevError) -> NoReturn:
    """End the program with one paragraph on stderr and status 2; at a prompt, raise instead.

    A wrong environment variable is the user's slip, not a bug: a traceback through our import
    machinery would bury the one line that helps.
    """
    if hasattr(sys, "ps1"):
        raise error
    print(f"tdev: {error}", file=sys.stderr)
    raise SystemExit(2) from None


def hush_interrupts() -> None:
    """Have Ctrl-C end the process without a traceback, by the signal all the same, as shells expect.

    For commands of ours while they start. An exception hook that somebody has set is left alone.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _without_interrupts


def heed_interrupts() -> None:
    """Undo :func:`hush_interrupts`: from here on it is another's program that is interrupted."""
    if sys.excepthook is _without_interrupts:
        sys.excepthook = sys.__excepthook__


def _without_interrupts(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
