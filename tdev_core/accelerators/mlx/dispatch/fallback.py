"""The boxed fallback: any aten operator on the CPU and back, counted, with aliases kept.

It is the answer to operators without a row in the table, to element types that live on the host, and to
arguments a kernel declines.  It is also where errors come from: a kernel that fails runs here again, and torch's
own check raises torch's own words.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from tdev_core import settings
from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_mx
from tdev_core.accelerators.mlx.lazy import torch, torch_api
from tdev_core.accelerators.mlx.storage import allocation, contents
from tdev_core.errors import FallbackWarning, UnsupportedError, outside, warn_once
from tdev_core.metrics import journal
from tdev_core.metrics.counters import note_fallback

__all__ = ["boxed", "counts", "quiet", "run"]

counts: dict[str, int] = {}
"""Operator overload -> how often it ran on the CPU because the device has no kernel for it or for its arguments."""

_counting = threading.Lock()

quiet = 0
"""While positive, fallbacks are neither warned about nor refused (the test-suite counts them itself)."""

_ON_CPU = frozenset(
    {"aten::_pack_padded_sequence"}
)  # second result: batch sizes, which torch wants on the CPU
_HOST_INDEX = frozenset({"aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_",
                         "aten::_unsafe_index", "aten::_unsafe_index_put"})  # fmt: skip


_UNDECLARED_WRITES = {"aten::native_batch_norm": {"running_mean", "running_var"}}
"""What an operator writes to although its schema does not say so."""


def boxed(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Answer every operator without a row."""
    return run(op, args, kwargs, "the device has no kernel for it")


def _name(op: Any) -> str:
    return f"{op._schema.name.removeprefix('aten::')}.{op._schema.overload_name or 'default'}"


def _count(op: Any, why: str) -> None:
    name = _name(op)
    with _counting:
        counts[name] = counts.get(name, 0) + 1
    if quiet or _for_precision():
        return
    if settings.flag("TDEV_STRICT"):
        raise UnsupportedError(
            f"aten::{name} would leave device 'mlx' for the CPU: {why}. Instead: leave TDEV_STRICT unset to "
            f"let it run there, or move the tensors to the CPU yourself.",
            "TDEV108",
        )
    note_fallback(f"aten::{name}")
    warn_once(
        f"aten::{name} runs on the CPU and comes back: {why}",
        FallbackWarning,
        code="TDEV201",
        key=("mlx", name),
        stacklevel=outside(),
    )


_OF_ITS_OWN = (
    os.path.join("torch", "_tensor_str.py"),
    os.path.join("torch", "amp", "grad_scaler.py"),
)


def _for_precision() -> bool:
    """Tell whether torch itself takes to float64 for a moment, which is nobody's slow loop.

    It formats a tensor from such a copy, and inverts a `GradScaler`'s scale, one number, in it.
    """
    frame = sys._getframe(2)
    for _ in range(9):
        if frame.f_code.co_filename.endswith(_OF_ITS_OWN):
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


class _Call:
    """One call's tensors and their CPU twins."""

    def __init__(self, schema: Any) -> None:
        self.whole: dict[int, torch.UntypedStorage] = {}  # device storage -> owned host copy
        self.sources: dict[int, torch.Tensor] = {}  # a tensor of each of them
        self.twins: dict[int, torch.Tensor] = {}  # id of twin -> original
        self.written: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.devices: set[str] = set()
        self.name = schema.name
        self.host_tensor: torch.Tensor | None = None

    def own(self, t: torch.Tensor) -> None:
        """Take a host copy of the storage of `t`, for a call that writes to it or returns views of it."""
        s = t.untyped_storage()
        if s._cdata in self.whole:
            return
        self.sources[s._cdata] = t
        if hasattr(s, "_host"):
            self.whole[s._cdata] = s._host
        else:
            self.whole[s._cdata] = contents.storage_bytes(t)

    def twin(self, t: torch.Tensor, write: bool = False) -> torch.Tensor:
        if t.device.type != "mlx":
            if t.dim() and t.device.type == "cpu":
                self.host_tensor = t
            return t
        self.devices.add("mlx")
        whole = self.whole.get(t.untyped_storage()._cdata)
        if whole is None:
            out = contents.host(t)
        else:
            out = torch.empty(0, dtype=t.dtype).set_(whole, t.storage_offset(), t.shape, t.stride())
            if t.is_conj():
                out = out.conj()
            if t.is_neg():
                out = torch._neg_view(out)
        self.twins[id(out)] = t
        if write:
            self.written.append((t, out))
        return out

    def commit(self) -> None:
        """Bring what the call wrote back to the device; other elements of a storage may be other threads'."""
        for t, twin in self.written:
            if (
                twin.shape != t.shape
                or twin.is_conj() != t.is_conj()
                or twin.is_neg() != t.is_neg()
                or twin.untyped_storage()._cdata != self.whole[t.untyped_storage()._cdata]._cdata
            ):
                t.data = contents.wrap_host(
                    twin
                )  # an out= tensor that the operator resized or replaced
                continue
            contents.put_bytes(t, self.whole[t.untyped_storage()._cdata])

    def back(self, r: Any, view: bool) -> Any:
        if not isinstance(r, torch.Tensor):
            if isinstance(r, (list, tuple)):
                return type(r)(self.back(x, view) for x in r)
            return r
        if r.layout is not torch.strided:
            raise UnsupportedError(
                f"{self.name} would make a {r.layout} tensor on device 'mlx', which has strided tensors only. "
                "Instead: call .cpu() first and keep the result on the CPU.",
                "TDEV109",
            )
        original = self.twins.get(id(r))
        if original is not None:
            return original
        if view:
            s = r.untyped_storage()._cdata
            for key, whole in self.whole.items():
                if whole._cdata == s:
                    return _viewed(self.sources[key], r)
        return contents.wrap_host(r, strided=True)


def _viewed(base: torch.Tensor, r: torch.Tensor) -> torch.Tensor:
    if r.dtype is not base.dtype:
        contents.share_dtypes(base, r.dtype)
        base = torch_api.kernel("view", "dtype", "CompositeExplicitAutograd")(
            base.as_strided((base.untyped_storage().nbytes() // base.dtype.itemsize,), (1,), 0),
            r.dtype,
        )
    return base.as_strided(r.shape, r.stride(), r.storage_offset())


def _map(x: Any, f: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return f(x)
    if isinstance(x, (list, tuple)) and x and not isinstance(x[0], (int, float, str, bool)):
        return [_map(y, f) for y in x]
    return x


def run(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], why: str, count: bool = True
) -> Any:
    """Run `op` on CPU twins of its tensors and bring the results back.

    Raises:
        UnsupportedError: ``TDEV_STRICT=1`` is set.
        RuntimeError: what torch's CPU operator raises, or torch's message about tensors on different devices.
    """
    with journal.span("fallback", f"aten::{_name(op)}"):
        return _run(op, args, kwargs, why, count)


def _run(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], why: str, count: bool) -> Any:
    schema = op._schema
    runtime.ready()
    call = _Call(schema)
    names = [a.name for a in schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    info = {a.name: a.alias_info for a in schema.arguments if a.alias_info is not None}
    writes = {name for name, alias in info.items() if alias.is_write}
    writes |= _UNDECLARED_WRITES.get(schema.name, set())
    view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    for name in info if view else writes:
        _map(given.get(name), lambda t: call.own(t) if t.device.type == "mlx" else None)
    host = {
        name: _map(value, lambda t, w=name in writes: call.twin(t, w))
        for name, value in given.items()
    }
    device = host.get("device")
    if device is not None and torch.device(device).type == "mlx":
        allocation.check_device(device)
        host["device"] = torch.device("cpu")
        call.devices.add("mlx")
    if call.host_tensor is not None and call.devices and call.name not in _HOST_INDEX | _ON_CPU:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, mlx:0 and cpu! "
            f"(when checking the arguments of {call.name.replace('aten::', '')})"
        )
    if call.name == "aten::convolution_overrideable":
        op = torch.ops.aten.convolution.default
    if call.name == "aten::convolution_backward_overrideable":
        op = torch.ops.aten.convolution_backward.default
        host = _conv_backward(host)
    positional = (
        [host.pop(a.name) for a in schema.arguments if not a.kwarg_only and a.name in host]
        if (call.name != "aten::convolution_backward_overrideable")
        else host.pop("positional")
    )
    if host.get("generator") is not None:
        host["generator"] = cpu_generator(host["generator"])
    result = _compute(op, positional, host)
    if count:
        _count(op, why)
    call.commit()
    if call.name in _ON_CPU:
        return (call.back(result[0], view), *result[1:])
    return call.back(result, view) if call.devices else result


def cpu_generator(generator: Any) -> Any:
    """Find the CPU generator that numbers for `generator` are drawn from."""
    return getattr(generator, "_cpu", generator)


def _conv_backward(host: dict[str, Any]) -> dict[str, Any]:
    g, x, w = host["grad_output"], host["input"], host["weight"]
    return {
        "positional": [
            g, x, w, [w.shape[1] * host["groups"] if host["transposed"] else w.shape[0]], host["stride"],
            host["padding"], host["dilation"], host["transposed"], host["output_padding"], host["groups"],
            host["output_mask"],
        ]
    }  # fmt: skip


_WIDER = {"Half": "float32", "BFloat16": "float32"}


def _compute(op: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return op(*args, **kwargs)
    except (NotImplementedError, RuntimeError) as error:
        text = str(error)
        kind = next((k for k in _WIDER if f"not implemented for '{k}'" in text), None)
        if kind is None or any(a.alias_info is not None for a in op._schema.arguments):
            from tdev_core.accelerators.privateuse import widen  # it needs torch at once

            return widen.retry(op, args, kwargs, error)
    narrow = {"Half": torch.float16, "BFloat16": torch.bfloat16}[kind]
    wide = getattr(torch, _WIDER[kind])

    def wider(t: torch.Tensor) -> torch.Tensor:
        return t.to(wide) if t.dtype is narrow else t

    if kwargs.get("dtype") is narrow:
        kwargs = kwargs | {"dtype": wide}
    result = op(*[_map(a, wider) for a in args], **{k: _map(v, wider) for k, v in kwargs.items()})
    return _narrow(result, wide, narrow)


def _narrow(r: Any, wide: Any, narrow: Any) -> Any:
    if isinstance(r, torch.Tensor):
        return r.to(narrow) if r.dtype is wide else r
    return type(r)(_narrow(x, wide, narrow) for x in r) if isinstance(r, (list, tuple)) else r


def on_device(dtype: Any) -> bool:
    """Tell whether tensors of the torch `dtype` live on MLX rather than in host memory."""
    return dtype in to_mx
