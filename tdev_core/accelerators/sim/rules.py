"""Rules of an operator on ``sim``, found out once before it is called: its schema, and what the device does about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch._ops import OpOverload

from tdev_core.accelerators.privateuse import waits
from tdev_core.accelerators.privateuse.device_check import any_device, cpu_scalars
from tdev_core.accelerators.privateuse.schema import Facts, facts
from tdev_core.accelerators.sim import determinism, memory

__all__ = ["COPIES_TO", "INDEXED", "NUMBER", "Rules", "rules"]

INDEXED = frozenset({"aten::index.Tensor", "aten::index_put_", "aten::_index_put_impl_"})
COPIES_TO = "aten::_to_copy"
NUMBER = "aten::scalar_tensor"
"""The operator that torch makes of a number which the program assigns."""
_MAY_WAIT = waits.OPERATORS | INDEXED | {COPIES_TO, "aten::copy_", NUMBER}
_FILL_IN_PLACE = frozenset({"copy_", "fill_", "masked_fill_", "zero_"})


@dataclass(frozen=True, slots=True)
class Rules:
    """One operator's rules.

    ``scalars``, ``any_of``: which tensors of another device it takes; ``may_wait``: whether CUDA would wait in some of its
    calls; ``alert``: what is told where it is not deterministic; ``single``: whether it returns one thing; ``reshaped``: names
    of the arguments whose tensor, not only their numbers, the call may change, or that the program's own kernel could keep;
    ``keeps``: whether the others' aliases may be those of calls before.
    """

    facts: Facts
    scalars: bool
    any_of: frozenset[str]
    may_wait: bool
    alert: tuple[str, Callable[[Any], bool]] | None
    single: bool
    reshaped: frozenset[str]
    keeps: bool


@cache
def rules(op: OpOverload) -> Rules:
    """Find out the rules of ``op``; once, after the device has been configured."""
    known = facts(op)
    return Rules(
        known,
        cpu_scalars(known),
        any_device(known),
        known.name in _MAY_WAIT,
        determinism.caller(known),
        len(known.returns) == 1,
        frozenset() if _writes_numbers_alone(known) else known.written,
        # A kernel of the program's own may do to its arguments what it likes.
        known.name.startswith("aten::") and not memory.counts_natively(),
    )


def _writes_numbers_alone(known: Facts) -> bool:
    """Tell whether an operator leaves the tensors that it writes to with the memory and the shape that they have."""
    base = known.name.removeprefix("aten::").partition(".")[0]
    if not base.endswith("_"):
        return False
    return known.pointwise or base.startswith("_foreach_") or base in _FILL_IN_PLACE
