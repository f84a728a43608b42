"""Shows a program's exception as if Python had run the program itself."""

from __future__ import annotations

import os
import sys
from types import TracebackType

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_IMPORTLIB = "<frozen importlib"


def show(error: BaseException) -> None:
    """Call the exception hook (the program may have set its own) without our frames.

    ``sys.last_traceback`` and its siblings are set as the interpreter sets them.
    """
    trace = without_own_frames(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.last_exc = error  # type: ignore[attr-defined, unused-ignore]
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def hint(error: BaseException | None = None) -> None:
    """Say, after a program that ended badly, what would have answered.

    The setting, for an ``is_available()`` that was false to it; another dtype, where ``error`` says that the CPU lacks
    a kernel that CUDA has.
    """
    backend = sys.modules.get("tdev_core.backend")
    if backend is not None and backend.current() is backend.Backend.CPU:
        from tdev_core.accelerators.cpu import lacking

        if advised := lacking.advice(error):
            print(f"tdev run: {advised}.", file=sys.stderr)
    selection = sys.modules.get("tdev_core.cuda.device_selection")
    if selection is None or not selection.denied:
        return
    print(
        "tdev run: the program asked torch.cuda.is_available() and was told False, as the backend is the CPU. "
        "TDEV_CUDA_AVAILABLE=true answers True there; TDEV_BACKEND=sim and TDEV_BACKEND=mlx are accelerators.",
        file=sys.stderr,
    )


def without_own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of ``error`` without frames of the runner.

    A syntax error is raised while a module is compiled, below the import system's own frames, which
    Python leaves out too.
    """
    kept = []
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        import_system = isinstance(error, SyntaxError) and name.startswith(_IMPORTLIB)
        if not name.startswith(_OWN) and not import_system:
            kept.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for entry in reversed(kept):
        entry.tb_next = result
        result = entry
    return result
