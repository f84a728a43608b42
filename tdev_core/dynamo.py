"""What torch.compile has to know of tdev; imports nothing of the compiler before the program does.

Source: ``torch._dynamo.trace_rules``, ``torch._dynamo.assume_constant_result``.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tdev_core.devices import translate, translate_type
from tdev_core.shims.after_import import call_after_import

__all__ = ["prepare"]

# Objects of C types, locks and calls into the C library: run as they are, never traced.
_OPAQUE = (
    "tdev_core.cpu.heap",
    "tdev_core.cpu.host",
    "tdev_core.events",
    "tdev_core.history",
    "tdev_core.stream_objects",
    "tdev_core.watermark",
)
_RULES = "torch._dynamo.trace_rules"


def prepare() -> None:
    """Have the compiler take tdev for what it is, now or when it is imported."""
    for function in (translate, translate_type):
        # Asked while tracing, and the answer taken for a constant, which it is: a specification means
        # the same device for the life of the process.
        function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    rules = sys.modules.get(_RULES)
    if rules is not None:
        _skip(rules)
    else:
        call_after_import(_RULES, _skip)


def _skip(rules: ModuleType) -> None:
    for name in _OPAQUE:
        rules.add(name)
