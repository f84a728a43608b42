"""Words for a test run: where it runs, what failed for want of CUDA and why, what was skipped for it."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable

from tdev_core.ecosystem.libraries import NEVER_REWRITTEN

_WANTS_CUDA = re.compile(r"\bcuda\b|\bgpus?\b|nvidia|accelerator", re.I)
_OF_ANOTHER_TYPE = re.compile(r"^(only runs|doesn't run|does not run) on", re.I)
"""What the harness of torch's tests says in the classes of the other devices."""
_SHOWN = 5
_FAILED_FOR_CUDA = re.compile(
    r"not compiled with CUDA|\b_cuda_\w+|no NVIDIA driver|CUDA is not available|invalid device ordinal"
    r"|Expected .*\bcuda\b|don't have kernel|CUDA driver",
    re.I,
)


def backend_and_devices() -> str:
    """Return which backend is active, why, and how many devices it has, as far as the mirror tells."""
    try:
        from tdev_core import backend

        text = f"backend {backend.current().value} ({backend.reason()})"
        mirror = sys.modules.get("tdev")
        if mirror is not None and backend.is_accelerator():
            count = mirror.cuda.device_count()
            text += f", {count} device{'' if count == 1 else 's'}"
        return text
    except Exception as error:  # a torch that does not load is what the first test says
        return f"backend unknown: {type(error).__name__}: {error}"


def of_failure(error: BaseException, covers: Callable[[str], bool]) -> str | None:
    """Return which module that runs as it is met CUDA's absence, and how to include it; None where none did.

    Args:
        covers: tells whether a file is rewritten.
    """
    if not _FAILED_FOR_CUDA.search(str(error)):
        return None
    trace, found = error.__traceback__, None
    while trace is not None:
        frame = trace.tb_frame
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in NEVER_REWRITTEN:
            found = (name, frame.f_code.co_filename)
        trace = trace.tb_next
    if found is None or covers(found[1]) or not os.path.isfile(found[1]):
        return None
    package = found[0].partition(".")[0]
    return (
        f"{found[0]} ({os.path.abspath(found[1])}) runs as it is: it is not the program's, by where it lies. To have it "
        f'rewritten as the tests are: tdev_roots = ["{package}"] in pytest\'s settings'
    )


def of_skipped(reasons: Iterable[str]) -> str | None:
    """Return how many of the tests skipped for ``reasons`` wanted CUDA, and what would run them; None where none did."""
    number = _for_cuda(reasons).total()
    if not number or _on_accelerator() is not False:
        return None
    tests = "1 test was" if number == 1 else f"{number} tests were"
    return (
        f"{tests} skipped for want of CUDA. TDEV_BACKEND=sim runs them on an accelerator made of host memory, "
        "TDEV_BACKEND=mlx on Apple's MLX"
    )


def of_skipped_in_vain(reasons: Iterable[str], including: str) -> str | None:
    """Return how many tests were skipped because of CUDA although tdev has a device for them, why, and what runs them.

    A run that is green because it ran nothing is the worst answer. None where all ran, or a real GPU may lack what they want.

    Args:
        reasons: why each skipped test was, in its own words.
        including: what has a module rewritten that runs as it is.
    """
    found = _for_cuda(reasons)
    if not found or not _on_accelerator():
        return None
    from tdev_core.backend import Backend, current

    if current() not in (Backend.SIM, Backend.MLX):
        return None
    number = found.total()
    tests = "1 test was" if number == 1 else f"{number} tests were"
    shown = [f"{reason!r} ({n})" for reason, n in found.most_common(_SHOWN)]
    shown += [f"and {len(found) - _SHOWN} reasons more"] if len(found) > _SHOWN else []
    return (
        f"{tests} skipped because of CUDA although {current().value} was active: {', '.join(shown)}. What asks torch as it is "
        f"does not see the device: {including}, and TDEV_SIM_DEVICES=2 makes two devices"
    )


def _for_cuda(reasons: Iterable[str]) -> Counter[str]:
    """Count the reasons that name CUDA; that a test is another device type's is none."""
    return Counter(r for r in reasons if _WANTS_CUDA.search(r) and not _OF_ANOTHER_TYPE.search(r))


def _on_accelerator() -> bool | None:
    """Tell whether an accelerator is active; None where no backend can be."""
    try:
        from tdev_core import backend

        return backend.is_accelerator()
    except Exception:  # the header has said why
        return None
