"""Loads the native kernels where they have been built, and puts them before the Python kernels of operators.

Without them everything works, by Python alone. They answer while nobody listens to operators (:mod:`..listening`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators import lagging, streams
from tdev_core.accelerators.privateuse import waits
from tdev_core.accelerators.privateuse.device_check import any_device, cpu_scalars
from tdev_core.accelerators.privateuse.native import Library
from tdev_core.accelerators.privateuse.native_kernels import Kernels
from tdev_core.accelerators.privateuse.schema import facts
from tdev_core.accelerators.sim import aliasing, determinism, fallback, listening, lowering

__all__ = ["LIBRARY", "answered", "guard", "load", "put", "state", "using"]

LIBRARY = Library("sim")
_kernels = Kernels(LIBRARY, "python -m tdev native sim")
state, answered, using = _kernels.state, _kernels.answered, _kernels.using

_PYTHONS = frozenset(
    "_pack_padded_sequence _pad_packed_sequence scalar_tensor set_ resize_ resize_as_".split()
)
"""Base names of operators left to Python: results that stay on the host, a number that is remembered, memory exchanged."""

_COMPOSITES = {"aten::scaled_dot_product_attention": (4, False), "aten::dropout": (1, True)}
"""Operators of many, by the position of the argument that has them draw, and whether without it they give their input."""

_COPIES = frozenset({"aten::copy_", "aten::_to_copy"})
"""Between devices they wait; on one device they are as any other."""


def load() -> Any:
    """Load the library if it has been built for this torch and these sources, and return it; else None."""
    if _kernels.module is None:
        _kernels.module = _kernels.load()
    return _kernels.module


def guard() -> None:
    """Have torch's C++ see the streams that Python makes current, where the library was loaded; once the device is registered."""
    _kernels.module.register_guard(
        create=lambda index, priority: streams.Stream(index, priority).stream_id,
        exchange=streams.exchange,
        until=lambda index, number: lagging.until((index, number)),
        order=lambda index, number, moment: lagging.order((index, number), moment),
        busy=lagging.busy,
        wait=lagging.wait,
    )
    streams.chosen_natively = _kernels.module.select_stream


def put(operators: Iterable[OpOverload]) -> None:
    """Stand before the Python kernels of ``operators``, which are all :func:`..fallback.kernel`'s, where it was loaded."""
    library = _kernels.module
    if library is None:
        return
    library.start(aliasing.adopt_tensor, lowering.give_back)
    for operator in operators:
        known = facts(operator)
        base = known.name.removeprefix("aten::").partition(".")[0]
        if known.random or known.name in waits.OPERATORS or base in _PYTHONS:
            continue
        schema = operator._schema
        if known.name in fallback.VIEWS:
            library.view(schema.name, schema.overload_name)
            continue
        stays = known.name in _COPIES
        elsewhere = any_device(known)
        library.front(
            schema.name,
            schema.overload_name,
            scalars=cpu_scalars(known) and not stays,
            any=[name in elsewhere and not stays for name in known.arguments],
            refuses_masks=True,
            alerts=determinism.caller(known) is not None,
        )
    for name, (draws, alone) in _COMPOSITES.items():
        whole: OpOverload = getattr(torch.ops.aten, name.removeprefix("aten::")).default
        nowhere = [False] * len(facts(whole).arguments)
        library.composite(name, any=nowhere, draws=draws, alone=alone)
    listening.tell(library.enable)
