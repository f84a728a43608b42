"""What torch.compile has to know of tdev; imports nothing of the compiler before the program does.

Source: ``torch._dynamo.assume_constant_result``; ``torch._dynamo.eval_frame.skip_code``.
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType

from torch._C._dynamo import eval_frame

from tdev_core.devices import translate, translate_type
from tdev_core.shims.after_import import call_after_import

__all__ = ["prepare"]

# Objects of C types, locks and calls into the C library: their functions run as they are.
_OPAQUE = (
    "tdev_core.cpu.heap",
    "tdev_core.cpu.host",
    "tdev_core.events",
    "tdev_core.history",
    "tdev_core.stream_objects",
    "tdev_core.watermark",
)


def prepare() -> None:
    """Have the compiler take tdev for what it is, once it is used."""
    for function in (translate, translate_type):
        # Asked while tracing, and the answer taken for a constant, which it is: a specification means
        # the same device for the life of the process.
        function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    for name in _OPAQUE:
        if name in sys.modules:
            _skip(sys.modules[name])
    call_after_import({name for name in _OPAQUE if name not in sys.modules}, _skip)


def _skip(module: ModuleType) -> None:
    # Skip the function's own frame, and say nothing about the functions that it calls.
    strategy = eval_frame._FrameExecStrategy(
        eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT
    )
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(function, FunctionType):
                eval_frame.set_code_exec_strategy(function.__code__, strategy)
