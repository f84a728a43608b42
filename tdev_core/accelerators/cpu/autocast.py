"""CUDA's operator lists for tensors on the CPU, in the regions that a program wrote for CUDA.

torch has lists for the CPU of its own, at dispatch key ``AutocastCPU``: there ``sum`` and ``softmax`` stay narrow,
and ``cat`` and the pools widen. Those stay as they are, for they belong to ``torch.autocast("cpu")`` of whoever wrote
that. What CUDA does otherwise is registered at a key that no tensor has, and that a region puts into its thread's
dispatch state; C++ kernels at ``AutocastCPU`` go on doing what both lists have alike (``linear``, ``matmul``,
``conv2d``, losses), with torch's cache of cast weights.

In float16 most CPUs have no fast products and convolutions: one takes up to some hundred times what it takes in float32 (torch
2.13, x86 without AVX512-FP16). There it is computed in float32, of what was rounded to float16, and rounded again: as CUDA's
kernels do, which multiply float16 and add in float32. A product of a few rows, as of one token, is fast as it is.

Three states of a thread that torch itself keeps make a region, so that autograd, checkpoints, ``torch.compile``
(guards, cache keys) and exported programs carry it as they carry any autocast:

* autocast for ``"cuda"`` is on, with its type: what ``torch.is_autocast_enabled()`` answers;
* autocast for ``"cpu"`` is on, with the same type: what is asked by ``x.device.type``, and what
  ``torch.autocast(x.device.type, enabled=False)`` inside the region switches off;
* the key below is in the set that each operator's dispatch starts from.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tdev_core.internals import relying_on

if TYPE_CHECKING:
    from tdev_core.accelerators.privateuse.autocast import Kernel, Rules

__all__ = ["State", "is_on", "restore", "state", "switch"]

_KEY = "AutocastIPU"
"""Its device left torch years ago: no kernel is registered there and no tensor carries it. Keys of devices that
live (``AutocastPrivateUse1``, ``AutocastCUDA`` of fake tensors) may be somebody's."""

_SAME_TYPE = (
    "adaptive_avg_pool3d adaptive_max_pool3d max_pool3d max_unpool2d max_unpool3d"
    " fractional_max_pool2d fractional_max_pool3d reflection_pad1d reflection_pad2d replication_pad1d"
    " replication_pad2d replication_pad3d grid_sampler_2d grid_sampler_3d cat stack index_copy trace"
    " _addmm_activation _native_multi_head_attention"
).split()
"""Cast on the CPU and not on CUDA, which has kernels in half precision for them. Where CUDA has none either, or
makes complex numbers that the CPU cannot hold (``fft_*``, ``linalg_*``, ``stft``, ``quantile``), the CPU's rule stays."""


_FAST = frozenset({"prelu", "mv", "addmv", "addr", "linalg_vecdot"})
"""What float16 does not slow down, of all that runs in the autocast type."""
_MATRIX = {"linear": 0, "matmul": 0, "mm": 0, "addmm": 1}
"""Products by where their first matrix stands among what they are given."""
_FEW_ROWS = 4


class State(NamedTuple):
    """The state of a thread that a region changes."""

    on: bool
    cpu: bool
    cpu_dtype: torch.dtype


def is_on() -> bool:
    """Tell whether the calling thread is in a region that follows CUDA's lists."""
    return bool(torch._C._dispatch_tls_is_dispatch_key_included(_key()))


def state() -> State:
    """Return what :func:`restore` needs at the end of a region that starts here."""
    return State(is_on(), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))


def switch(on: bool, dtype: torch.dtype) -> None:
    """Start, or suspend, CUDA's lists for CPU tensors on the calling thread.

    The state of ``"cuda"`` itself is the caller's to set: ``torch.autocast`` does it anyway. Where there are none to
    suspend, autocast that is on is the CPU's own, by ``torch.autocast("cpu")``: that stays, as it does under torch.
    """
    if on or is_on():
        restore(State(on, on, dtype))


def restore(before: State) -> None:
    """Go back to ``before``."""
    on = before.on and _install()
    torch.set_autocast_enabled("cpu", before.cpu)
    torch.set_autocast_dtype("cpu", before.cpu_dtype)
    torch._C._dispatch_tls_set_dispatch_key_included(_key(), on)
    torch._C._dispatch_tls_set_dispatch_key_excluded(_key(), not on)


@functools.cache
def _key() -> Any:
    return getattr(torch._C.DispatchKey, _KEY)


_installing = threading.Lock()


def _install() -> bool:
    with _installing:  # no second thread may enter its region before all kernels are there
        return _registered()


@functools.cache
def _registered() -> bool:
    with relying_on(
        "torch._C", "Autocast that is written for CUDA follows the CPU's operator lists"
    ):
        _register()
        return True
    return False


def _register() -> None:
    # The kernels are made as those of devices are, by experimental parts of torch that may be gone.
    from tdev_core.accelerators.privateuse import torch_api
    from tdev_core.accelerators.privateuse.autocast import FP32, LOWER, Rules, overload

    torch_api.set_fallthrough(_KEY)
    rules = Rules("cpu", _KEY, ("AutocastCPU",))
    both, slow = {*LOWER, *FP32}, {*LOWER} - _FAST
    for operator, kernel in rules.kernels():
        name = f"aten::{operator}"
        alike = torch_api.has_kernel(name, "AutocastCPU")
        if operator in slow:
            wide = _in_float32(operator, rules, None if alike else kernel)
            torch_api.implement(name, _if_enabled(operator, rules, wide), _KEY)
        elif not (operator in both and alike):
            torch_api.implement(name, _if_enabled(operator, rules, kernel), _KEY)
    for operator in _SAME_TYPE:
        if (op := overload(operator)) is not None:
            torch_api.implement(f"aten::{operator}", rules.unchanged(op), _KEY)
    pool: Any = (
        torch.ops.aten.avg_pool3d.default
    )  # torch 2.13 has it on the CPU for bfloat16 and wider only
    torch_api.implement("aten::avg_pool3d", rules.widened(pool), _KEY)


def _in_float32(operator: str, rules: Rules, cast: Kernel | None) -> Kernel:
    """Make the kernel of what is slow in float16: there it is computed in float32; else by ``cast``, or by torch's kernel for the CPU."""
    from tdev_core.accelerators.privateuse import torch_api
    from tdev_core.accelerators.privateuse.autocast import overload

    op: Any = overload(operator)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if torch.get_autocast_dtype("cpu") is torch.float16 and not _has_few_rows(operator, args):
            return rules.computed_in(op, torch.float16, torch.float32, args, kwargs)
        if cast is not None:
            return cast(*args, **kwargs)
        with torch_api.without_keys(_KEY):
            return op(*args, **kwargs)

    return kernel


def _has_few_rows(operator: str, args: tuple[Any, ...]) -> bool:
    """Tell whether a product is of so few rows that to widen the other matrix would take longer; not where the sizes are unknown."""
    at = _MATRIX.get(operator)
    if at is None or len(args) <= at or not args[at].dim():
        return False
    size = args[at].numel()
    return type(size) is int and size < _FEW_ROWS * args[at].shape[-1]


def _if_enabled(operator: str, rules: Rules, cast: Kernel) -> Kernel:
    from tdev_core.accelerators.privateuse.autocast import overload

    # torch.autocast("cpu", enabled=False), by device type or in custom_fwd, leaves the key where it is.
    plain = rules.unchanged(overload(operator))  # type: ignore[arg-type]  # it has a kernel, so it exists

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return (cast if torch.is_autocast_enabled("cpu") else plain)(*args, **kwargs)

    return kernel
