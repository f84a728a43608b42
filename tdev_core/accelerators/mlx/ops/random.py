"""Distributions: what ``x.normal_()``, ``torch.randperm`` and dropout draw, by MLX's generator of uniform numbers."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import cast, category, is_half, mx_dtype
from tdev_core.accelerators.mlx.generators import key
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.ops.arithmetic import mul
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage.allocation import wrap
from tdev_core.accelerators.mlx.storage.contents import read, write
from tdev_core.accelerators.mlx.storage.results import store

Tensor = Any


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def _float(x: Tensor) -> Any:
    mlx = mx_dtype(x.dtype)
    if category[mlx] != 2:
        raise Decline("this distribution is drawn in floating point")
    return mlx


def uniform01(shape: tuple[int, ...], generator: Any) -> Any:
    """Draw float32 in [0, 1)."""
    return mx.random.uniform(shape=shape, dtype=mx.float32, key=key(generator))


def _open(shape: tuple[int, ...], generator: Any) -> Any:
    """Draw float32 in (0, 1): safe under a logarithm."""
    return mx.maximum(uniform01(shape, generator), 2.0**-25)


@op("uniform_", mlx="mx.random.uniform", raw=True)
def uniform_(
    x: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kw: Any
) -> Tensor:
    from_ = kw.get("from", from_)
    dtype = _float(x)
    if from_ > to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}"
        )
    if not math.isfinite(from_) or not math.isfinite(to):
        raise Decline("uniform_ over an infinite range")
    r = uniform01(_shape(x), generator) * (to - from_) + from_
    r = r.astype(dtype)
    if to > from_:  # rounding must not reach the excluded end
        r = mx.where(r >= to, mx.array(from_, dtype=dtype), r)
    write(x, r)
    return x


def _normal(shape: tuple[int, ...], generator: Any) -> Any:
    return mx.random.normal(shape=shape, dtype=mx.float32, key=key(generator))


@op("normal_", mlx="mx.random.normal", raw=True)
def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if x.dtype is torch.complex64:
        pair = _normal((*_shape(x), 2), generator) * (std / math.sqrt(2))
        write(x, mx.view(mx.contiguous(pair), mx.complex64)[..., 0] + mean)
        return x
    write(x, (_normal(_shape(x), generator) * std + mean).astype(_float(x)))
    return x


def _parameter(v: Any) -> Any:
    return read(v).astype(mx.float32) if isinstance(v, torch.Tensor) else v


@op(
    "normal.Tensor_float",
    "normal.float_Tensor",
    "normal.Tensor_Tensor",
    mlx="mx.random.normal",
    raw=True,
)
def normal(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    tensors = [v for v in (mean, std) if isinstance(v, torch.Tensor)]
    dtype = _float(tensors[0])
    if any(t.dtype is not tensors[0].dtype for t in tensors) or any(
        not isinstance(v, torch.Tensor) and v < 0 for v in (std,)
    ):
        raise Decline("normal expects std >= 0 and one dtype")
    m, s = _parameter(mean), _parameter(std)
    if isinstance(std, torch.Tensor) and std.numel() and runtime.item(mx.min(s)) < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")
    shape = mx.broadcast_shapes(*[tuple(t.shape) for t in tensors])
    return wrap((_normal(shape, generator) * s + m).astype(dtype))


@op("exponential_", mlx="mx.random.uniform, mx.log", raw=True)
def exponential_(x: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    write(x, (-mx.log(_open(_shape(x), generator)) / lambd).astype(_float(x)))
    return x


@op("cauchy_", mlx="mx.random.uniform, mx.tan", raw=True)
def cauchy_(x: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    u = _open(_shape(x), generator)
    write(x, (median + sigma * mx.tan(math.pi * (u - 0.5))).astype(_float(x)))
    return x


@op("log_normal_", mlx="mx.random.normal, mx.exp", raw=True)
def log_normal_(x: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    write(x, mx.exp(_normal(_shape(x), generator) * std + mean).astype(_float(x)))
    return x


@op("geometric_", mlx="mx.random.uniform, mx.log", raw=True)
def geometric_(x: Tensor, p: float, *, generator: Any = None) -> Tensor:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    r = mx.ceil(mx.log(_open(_shape(x), generator)) / math.log1p(-p))
    write(x, mx.maximum(r, 1).astype(mx_dtype(x.dtype)))
    return x


def _integers(shape: tuple[int, ...], low: int, high: int, generator: Any) -> Any:
    """Draw int64 in [low, high). Ranges beyond 2**16 are put together from 16-bit pieces (MLX draws them through float32)."""
    span = high - low
    if span <= 1 << 16:
        u = mx.random.randint(0, span, shape=shape, dtype=mx.int32, key=key(generator)).astype(
            mx.int64
        )
        return u + low if -(2**31) <= low < 2**31 else u + mx.array([low], dtype=mx.int64)
    parts = mx.random.randint(
        0, 1 << 16, shape=(4, *shape), dtype=mx.int32, key=key(generator)
    ).astype(mx.uint64)
    bits = (
        parts[0]
        + parts[1] * 65536
        + parts[2] * (1 << 30) * 4
        + mx.left_shift(parts[3], mx.array(48, dtype=mx.uint64))
    )
    if span < 1 << 64:
        bits = bits % mx.array(memoryview(span.to_bytes(8, "little"))).view(mx.uint64)[0]
    shift = mx.array(memoryview((low % (1 << 64)).to_bytes(8, "little"))).view(mx.uint64)[0]
    return (
        (bits + shift).view(mx.int64)
        if shape
        else mx.reshape(mx.reshape(bits + shift, (1,)).view(mx.int64), ())
    )


_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24}


@op("random_", "random_.to", "random_.from", mlx="mx.random.randint", raw=True)
def random_(x: Tensor, *bounds: Any, generator: Any = None, **kw: Any) -> Tensor:
    bounds = (*bounds, *(kw[k] for k in ("from", "to") if k in kw))
    dtype = mx_dtype(x.dtype)
    name = str(x.dtype).removeprefix("torch.")
    low = 0
    if len(bounds) == 0 or (len(bounds) == 2 and bounds[1] is None):
        if name in _MANTISSA:
            high = (1 << _MANTISSA[name]) + 1
        else:
            high = 2 if x.dtype is torch.bool else int(torch.iinfo(x.dtype).max) + 1
        low = bounds[0] if bounds else 0
    else:
        low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if x.dtype.is_complex:
        raise Decline("random_ is for real numbers")
    if not x.dtype.is_floating_point and x.dtype is not torch.bool:
        info = torch.iinfo(x.dtype)
        if low < info.min or high - 1 > info.max:
            raise RuntimeError(
                f"to - 1 is out of bounds for {name}"
                if high - 1 > info.max
                else f"from is out of bounds for {name}"
            )
    write(x, cast(_integers(_shape(x), low, high, generator), dtype))
    return x


@op("bernoulli_.float", mlx="mx.random.bernoulli", raw=True)
def bernoulli_float(x: Tensor, p: float = 0.5, *, generator: Any = None) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    write(x, (uniform01(_shape(x), generator) < p).astype(mx_dtype(x.dtype)))
    return x


@op("bernoulli_.Tensor", mlx="mx.random.bernoulli", raw=True)
def bernoulli_tensor(x: Tensor, p: Tensor, *, generator: Any = None) -> Tensor:
    write(
        x, (uniform01(_shape(x), generator) < read(p).astype(mx.float32)).astype(mx_dtype(x.dtype))
    )
    return x


@op("bernoulli", mlx="mx.random.bernoulli", raw=True)
def bernoulli(p: Tensor, *, generator: Any = None) -> Tensor:
    dtype = _float(p)
    a = read(p).astype(mx.float32)
    if p.numel() and runtime.item(mx.any((a < 0) | (a > 1))):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return wrap((uniform01(_shape(p), generator) < a).astype(dtype))


@op("native_dropout", mlx="mx.random.bernoulli", raw=True)
def native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if train is False:
        return x.clone(), wrap(mx.ones(_shape(x), dtype=mx.bool_))
    a = read(x)
    if category[a.dtype] != 2:
        raise Decline("dropout is for floats")
    keep = uniform01(_shape(x), None) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    wide = a.astype(mx.float32) if is_half(a) else a
    return wrap(mx.where(keep, wide * scale, 0.0).astype(a.dtype)), wrap(keep)


@op("native_dropout_backward", mlx="mx.where")
def native_dropout_backward(g: Any, mask: Any, scale: float) -> Any:
    return mul(mul(g, mask), scale)


@op("randperm", "randperm.generator", mlx="mx.random.permutation", raw=True)
def randperm(
    n: int,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    dtype = torch.int64 if dtype is None else dtype
    return wrap(_permutation(n, generator).astype(mx_dtype(dtype)))


def _permutation(n: int, generator: Any) -> Any:
    return (
        mx.argsort(mx.random.uniform(shape=(n,), key=key(generator)))
        if n
        else mx.zeros((0,), dtype=mx.int32)
    )


@op("randperm.generator_out", "randperm.out", mlx="mx.random.permutation", raw=True)
def randperm_out(n: int, generator: Any = None, *, out: Tensor) -> Tensor:
    store(out, _permutation(n, generator).astype(mx_dtype(out.dtype)))
    return out


@op(
    "multinomial",
    mlx="mx.random.categorical, mx.argsort",
    note="without replacement by the Gumbel trick",
    raw=True,
)
def multinomial(
    p: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    _float(p)
    a = read(p).astype(mx.float32)
    n = a.shape[-1] if a.ndim else 0
    if (
        a.ndim not in (1, 2)
        or not a.size
        or num_samples <= 0
        or (not replacement and num_samples > n)
    ):
        raise Decline("multinomial's arguments do not fit")
    bad = mx.any((a < 0) | ~mx.isfinite(a)) | mx.any(mx.sum(a, axis=-1) <= 0)
    if runtime.item(bad):
        raise Decline(
            "probability tensor contains either `inf`, `nan` or element < 0, or sums to 0"
        )
    rows = mx.reshape(mx.log(a), (-1, n))
    shape = (rows.shape[0], num_samples, n) if replacement else (rows.shape[0], n)
    gumbel = -mx.log(-mx.log(mx.minimum(_open(shape, generator), 1 - 2.0**-24)))
    if replacement:
        picked = mx.argmax(mx.expand_dims(rows, 1) + gumbel, axis=-1)
    else:
        likely = mx.min(mx.sum(mx.reshape(a, (-1, n)) > 0, axis=-1))
        if int(runtime.item(likely)) < num_samples:
            raise Decline("fewer categories have a probability than samples are wanted")
        picked = mx.argsort(-(rows + gumbel), axis=-1)[:, :num_samples]
    return wrap(mx.reshape(picked, (*a.shape[:-1], num_samples)).astype(mx.int64))
