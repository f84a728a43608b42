"""What a step asks of the system from Python: nothing that waits for anything but the device, nothing outside it.

A speed is no test's subject here; that nobody sleeps, polls, opens a file or starts a process on the way of a step is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["asked_of_the_system"]

# Modules of C functions that wait or leave the process, by the name they have where they are built in.
_OUTSIDE = {
    "_io",
    "_posixsubprocess",
    "_signal",
    "_socket",
    "fcntl",
    "io",
    "mmap",
    "nt",
    "posix",
    "select",
}
_WAITS = {("time", "sleep")}
# Answered from memory.
_INSIDE = {("posix", "getpid"), ("posix", "fspath"), ("nt", "getpid"), ("nt", "fspath")}


def asked_of_the_system(step: Callable[[], object], package: str = "tdev_core") -> list[str]:
    """Run ``step`` and return what functions of ``package`` asked of the system meanwhile, ``function: call`` each."""
    found: list[str] = []

    def called(frame: FrameType, event: str, argument: Any) -> None:
        if event != "c_call" or f"/{package}/" not in frame.f_code.co_filename.replace("\\", "/"):
            return
        module = (
            getattr(argument, "__module__", None)
            or type(getattr(argument, "__self__", None)).__module__
        )
        name = (str(module), argument.__name__)
        if name in _WAITS or name[0] in _OUTSIDE and name not in _INSIDE:
            found.append(f"{frame.f_code.co_name}: {'.'.join(name)}")

    sys.setprofile(called)
    try:
        step()
    finally:
        sys.setprofile(None)
    return found
