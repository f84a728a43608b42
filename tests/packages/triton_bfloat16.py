"""Kernels in Triton that compute with bfloat16; prints what torch has otherwise, bit for bit. Run by ``test_interpreter.py``.

What is meant is computed in float32 (sums in float64, of numbers that are exact in it) and rounded once. Inputs are every bfloat16
there is, or pairs and rows of those that are apt to go wrong: both zeros, subnormal numbers, ties, the largest, infinity and NaN.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import numpy as np
import tdev  # noqa: F401  # before triton, which it has to tell
import torch
import triton
import triton.language as tl

DEVICE = os.environ["KERNELS_ON"]
SEED = int(os.environ.get("KERNELS_SEED", "0"))
N = 4096
BF = torch.bfloat16
WRONG: dict[str, str] = {}

EVERY = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(BF)
ODD = torch.tensor(
    [0.0, -0.0, 1.0, -1.0, 1.0078125, 2**-133, -(2**-127), 2**-126, 3.3895e38, -3.3895e38, float("inf"), -float("inf"), float("nan"), 256, 257, 0.1]
).to(BF)  # fmt: skip


def drawn(count: int, seed: int, small: bool = False) -> torch.Tensor:
    """Draw numbers of every size, odd ones among them; ``small``: whole ones, whose sums are exact."""
    generator = torch.Generator().manual_seed(1000 * SEED + seed)
    if small:
        return torch.randint(-16, 17, (count,), generator=generator).to(BF)
    bits = (
        torch.randint(-(1 << 15), 1 << 15, (count,), generator=generator).to(torch.int16).view(BF)
    )
    near = torch.randn(count, generator=generator).to(BF)
    odd = ODD[torch.randint(0, len(ODD), (count,), generator=generator)]
    kind = torch.randint(0, 3, (count,), generator=generator)
    return torch.where(kind == 0, bits, torch.where(kind == 1, near, odd))


def compare(name: str, found: torch.Tensor, meant: torch.Tensor) -> None:
    """Keep where bits differ; one NaN is as good as another."""
    found, meant = found.cpu().flatten(), meant.cpu().flatten()
    if found.dtype != meant.dtype:
        WRONG[name] = f"{found.dtype}, not {meant.dtype}"
        return
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[found.element_size()]
    differs = found.view(width) != meant.view(width)
    if found.is_floating_point():
        differs &= ~(found.isnan() & meant.isnan())
    if differs.any():
        at = int(differs.nonzero()[0])
        WRONG[name] = (
            f"{int(differs.sum())} of {len(found)}, the first at {at}: {found[at]}, not {meant[at]}"
        )


@triton.jit
def unary(x, o, OP: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i)
    if OP == "load and store":
        b = a
    elif OP == "neg":
        b = -a
    elif OP == "abs":
        b = tl.abs(a)
    elif OP == "twice":
        b = a + a
    elif OP == "times a number":
        b = a * 0.1 - 3
    elif OP == "by way of float32":
        b = a.to(tl.float32)
    elif OP == "by way of float16":
        b = a.to(tl.float16).to(tl.float32).to(tl.bfloat16)
    elif OP == "by way of float64":
        b = a.to(tl.float64)
    elif OP == "exp in float32":
        b = tl.exp(a.to(tl.float32)) * 0 + a
    elif OP == "bits":
        b = a.to(tl.int16, bitcast=True)
    elif OP == "is positive":
        b = a > 0
    elif OP == "is itself":
        b = a == a
    elif OP == "cut off":
        b = a.to(tl.float16, fp_downcast_rounding="rtz")
    elif OP == "cut off to bfloat16":
        b = a.to(tl.bfloat16, fp_downcast_rounding="rtz")
    else:
        b = a
    tl.store(o + i, b)


UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "load and store": lambda a: a,
    "neg": lambda a: -a,
    "abs": torch.abs,
    "twice": lambda a: a + a,
    "times a number": lambda a: a * torch.tensor(0.1).to(BF) - 3,
    "by way of float32": lambda a: a,
    "by way of float16": lambda a: a.half().bfloat16(),
    "by way of float64": lambda a: a,
    "bits": lambda a: a.view(torch.int16),
    "is positive": lambda a: a > 0,
    "is itself": lambda a: a == a,
    "to torch.float32": lambda a: a.float(),
    "to torch.float16": lambda a: a.half(),
    "to torch.float64": lambda a: a.double(),
}


def every_number() -> None:
    x = EVERY.to(DEVICE)
    for name, meaning in UNARY.items():
        meant = meaning(EVERY)
        out = torch.empty(meant.shape, dtype=meant.dtype, device=DEVICE)
        unary[(len(x) // N,)](x, out, name, N)
        found, kept = out.cpu(), EVERY
        if name == "neg":  # 0 - 0 is 0, before Triton 3.9 on a GPU, too
            kept = torch.where(EVERY == 0, torch.ones((), dtype=BF), EVERY)
            found = torch.where(EVERY == 0, -torch.ones((), dtype=BF), found)
            meant = -kept
        compare(name, found, meant)
    for dtype, within in (
        (torch.int32, 2.0**31),
        (torch.int64, 2.0**63),
        (torch.int16, 2.0**15),
        (torch.int8, 2.0**7),
    ):
        kept = EVERY[EVERY.isfinite() & (EVERY.double().abs() < within)]
        kept = torch.cat([kept, kept.new_zeros(-len(kept) % N)])
        out = torch.empty(kept.shape, dtype=dtype, device=DEVICE)
        unary[(len(kept) // N,)](kept.to(DEVICE), out, "", N)
        compare(f"to {dtype}", out, kept.to(dtype))
    generator = torch.Generator().manual_seed(SEED)
    for dtype, bits in (
        (torch.int32, 31),
        (torch.int64, 62),
        (torch.uint8, 8),
        (torch.int16, 15),
        (torch.bool, 1),
    ):
        whole = torch.randint(0, 2**bits, (N,), generator=generator) >> torch.randint(
            0, bits, (N,), generator=generator
        )
        whole = whole.to(dtype)
        out = torch.empty(N, dtype=BF, device=DEVICE)
        unary[(1,)](whole.to(DEVICE), out, "", N)
        compare(f"from {dtype}", out, whole.float().bfloat16())
    near = torch.cat([drawn(N, 3).float() * (1 + 2**-9 + d) for d in (0.0, 2**-22, -(2**-22))])
    for dtype in (torch.float32, torch.float64, torch.float16):
        given = near.to(dtype)
        out = torch.empty(len(given), dtype=BF, device=DEVICE)
        unary[(3,)](given.to(DEVICE), out, "", N)
        compare(f"from {dtype}", out, given.float().bfloat16())
    half = torch.empty(len(near), dtype=torch.float16, device=DEVICE)
    unary[(3,)](near.to(DEVICE), half, "", N)
    compare("from torch.float32 to torch.float16", half, near.half())
    for dtype, name in ((torch.float16, "cut off"), (BF, "cut off to bfloat16")):
        cut = torch.empty(len(near), dtype=dtype, device=DEVICE)
        unary[(3,)](near.to(DEVICE), cut, name, N)
        away = near.to(dtype)
        less = (away.float().abs() > near.abs()) & near.isfinite()
        compare(name, cut, (away.view(torch.int16) - less.short()).view(dtype))


@triton.jit
def binary(x, y, z, o, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    if OP == "add":
        r = a + b
    elif OP == "sub":
        r = a - b
    elif OP == "mul":
        r = a * b
    elif OP == "div":
        r = a / b
    elif OP == "mod":
        r = a % b
    elif OP == "chain":
        r = (a * b + c) * a - b
    elif OP == "fma":
        r = tl.fma(a.to(tl.float32), b.to(tl.float32), c.to(tl.float32))
    elif OP == "maximum":
        r = tl.maximum(a, b)
    elif OP == "minimum":
        r = tl.minimum(a, b)
    elif OP == "maximum, NaN":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "minimum, NaN":
        r = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif OP == "clamp":
        r = tl.clamp(c, tl.minimum(a, b), tl.maximum(a, b))
    elif OP == "where":
        r = tl.where(a < b, a, c)
    elif OP == "where with a number":
        r = tl.where(a < b, a, 0.1)
    elif OP == "lt":
        r = a < b
    elif OP == "le":
        r = a <= b
    elif OP == "gt":
        r = a > b
    elif OP == "ge":
        r = a >= b
    elif OP == "eq":
        r = a == b
    elif OP == "ne":
        r = a != b
    elif OP == "masked":
        r = tl.load(x + i, mask=i % 3 != 0, other=0.1)
    else:
        r = tl.load(x + i, mask=i % 3 != 0, other=b)
    tl.store(o + i, r)


def _no_nan(a: torch.Tensor) -> torch.Tensor:
    return torch.where(a.isnan(), torch.ones((), dtype=BF), a)


THIRD = torch.arange(N) % 3 != 0
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / b,
    "mod": lambda a, b, c: torch.from_numpy(
        np.fmod(a.float().numpy(), b.float().numpy())
    ).bfloat16(),
    "chain": lambda a, b, c: (a * b + c) * a - b,
    "fma": lambda a, b, c: (a.double() * b.double() + c.double()).float().bfloat16(),
    "maximum": lambda a, b, c: torch.where(
        a.isnan(), b, torch.where(b.isnan(), a, torch.maximum(a, b))
    ),
    "minimum": lambda a, b, c: torch.where(
        a.isnan(), b, torch.where(b.isnan(), a, torch.minimum(a, b))
    ),
    "maximum, NaN": lambda a, b, c: torch.maximum(a, b),
    "minimum, NaN": lambda a, b, c: torch.minimum(a, b),
    "clamp": lambda a, b, c: torch.fmin(torch.fmax(c, torch.fmin(a, b)), torch.fmax(a, b)),
    "where": lambda a, b, c: torch.where(a < b, a, c),
    "where with a number": lambda a, b, c: torch.where(a < b, a, torch.tensor(0.1, dtype=BF)),
    "lt": lambda a, b, c: a < b,
    "le": lambda a, b, c: a <= b,
    "gt": lambda a, b, c: a > b,
    "ge": lambda a, b, c: a >= b,
    "eq": lambda a, b, c: a == b,
    "ne": lambda a, b, c: a != b,
    "masked": lambda a, b, c: torch.where(THIRD, a, torch.tensor(0.1, dtype=BF)),
    "masked with others": lambda a, b, c: torch.where(THIRD, a, b),
}
"""On a GPU the larger of two zeros is of either sign."""


def pairs() -> None:
    a, b, c = (drawn(N, seed) for seed in (4, 5, 6))
    for name, meaning in BINARY.items():
        given = [a, b, c]
        if name == "clamp":
            given = [_no_nan(x) for x in given]
        meant = meaning(*given)
        out = torch.empty(N, dtype=meant.dtype, device=DEVICE)
        binary[(1,)](*(x.to(DEVICE) for x in given), out, name, N)
        found = out.cpu()
        if name.startswith(("maximum", "minimum", "clamp")):
            found, meant = found + 0.0, meant + 0.0
        compare(name, found, meant)


@triton.jit
def added(a, b):
    return a + b


@triton.jit
def rows(x, o, where, OP: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)[:, None]
    j = tl.arange(0, C)[None, :]
    a = tl.load(x + i * C + j)
    if OP == "sum":
        tl.store(o + i, tl.sum(a, axis=1, keep_dims=True))
    elif OP == "sum of all":
        tl.store(o, tl.sum(a))
    elif OP == "sum of columns":
        tl.store(o + tl.arange(0, C), tl.sum(a, axis=0))
    elif OP == "max":
        tl.store(o + tl.arange(0, R), tl.max(a, axis=1))
    elif OP == "min of all":
        tl.store(o, tl.min(a))
    elif OP == "max with its place":
        largest, place = tl.max(a, axis=1, return_indices=True)
        tl.store(o + tl.arange(0, R), largest)
        tl.store(where + tl.arange(0, R), place)
    elif OP == "min with its place":
        least, place = tl.min(a, axis=1, return_indices=True)
        tl.store(o + tl.arange(0, R), least)
        tl.store(where + tl.arange(0, R), place)
    elif OP == "cumsum":
        tl.store(o + i * C + j, tl.cumsum(a, axis=1))
    elif OP == "cumsum from behind":
        tl.store(o + i * C + j, tl.cumsum(a, axis=1, reverse=True))
    elif OP == "cumprod":
        tl.store(o + i * C + j, tl.cumprod(a, axis=1))
    elif OP == "own reduction":
        tl.store(o + tl.arange(0, R), tl.reduce(a, 1, added))
    elif OP == "own scan":
        tl.store(o + i * C + j, tl.associative_scan(a, 1, added))
    elif OP == "sort":
        tl.store(o + i * C + j, tl.sort(a))
    elif OP == "sort down":
        tl.store(o + i * C + j, tl.sort(a, descending=True))
    elif OP == "flip":
        tl.store(o + i * C + j, tl.flip(a, 1))
    elif OP == "trans":
        tl.store(o + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :], tl.trans(a))
    elif OP == "join":
        tl.store(o + tl.arange(0, 2 * R * C), tl.ravel(tl.join(a, a * 2)))
    elif OP == "split":
        left, right = tl.split(tl.reshape(a, (R, C // 2, 2)))
        tl.store(o + i * (C // 2) + tl.arange(0, C // 2)[None, :], left - right)
    else:
        tl.store(o + i * C + j, tl.gather(a, (i + j) % C, axis=1))


def _steps(a: torch.Tensor) -> torch.Tensor:
    columns = [a[:, 0]]
    for column in a.T[1:]:
        columns.append(columns[-1] + column)
    return torch.stack(columns, 1)


R, C = 16, 32
ROWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": lambda a: a.double().sum(1).bfloat16(),
    "sum of all": lambda a: a.double().sum().bfloat16(),
    "sum of columns": lambda a: a.double().sum(0).bfloat16(),
    "max": lambda a: a.amax(1),
    "min of all": lambda a: a.amin(),
    "max with its place": lambda a: a.max(1),
    "min with its place": lambda a: a.min(1),
    "cumsum": lambda a: a.double().cumsum(1).bfloat16(),
    "cumsum from behind": lambda a: a.double().flip(1).cumsum(1).flip(1).bfloat16(),
    "cumprod": lambda a: a.float().cumprod(1).bfloat16(),
    "own reduction": lambda a: _steps(a)[:, -1],
    "own scan": _steps,
    "sort": lambda a: a.sort(1).values,
    "sort down": lambda a: a.sort(1, descending=True).values,
    "flip": lambda a: a.flip(1),
    "trans": lambda a: a.T.contiguous(),
    "join": lambda a: torch.stack([a, a * 2], -1),
    "split": lambda a: a[:, 0::2] - a[:, 1::2],
    "gather": lambda a: a.gather(1, (torch.arange(R)[:, None] + torch.arange(C)) % C),
}


def every_row() -> None:
    for name, meaning in ROWS.items():
        sums = "sum" in name
        a = drawn(R * C, 7, small=sums).view(R, C)
        if name in ("cumprod", "own reduction", "own scan"):
            a = torch.randn(R, C, generator=torch.Generator().manual_seed(SEED)).to(BF)
        if "sort" in name or "place" in name or name in ("max", "min of all"):
            a = _no_nan(a)
        meant, places = meaning(a), None
        if "place" in name:
            meant, places = meant[0], meant[1].int()
        out = torch.empty(meant.shape, dtype=BF, device=DEVICE)
        where = torch.empty(R, dtype=torch.int32, device=DEVICE)
        rows[(1,)](a.to(DEVICE), out, where, name, R, C)
        found = out.cpu()
        if "sort" in name or "max" in name or "min" in name:
            found, meant = found + 0.0, meant + 0.0
        compare(name, found, meant)
        if places is not None:
            first = a.float() == meant.float()[:, None]
            compare(f"{name}: it", where, first.int().argmax(1).int())


@triton.jit
def changes(x, o, old, MASKED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    if MASKED:
        tl.store(old + i, tl.atomic_add(o + i // 4, a, mask=i % 2 == 0))
    else:
        tl.store(old + i, tl.atomic_add(o + i // 4, a))


def atomics() -> None:
    x = drawn(256, 8)
    for masked in (False, True):
        out = torch.zeros(64, dtype=BF, device=DEVICE)
        old = torch.full((256,), 7, dtype=BF, device=DEVICE)
        changes[(1,)](x.to(DEVICE), out, old, masked, 256)
        meant, before = torch.zeros(64, dtype=BF), torch.zeros(256, dtype=BF)
        for i in range(256):
            if masked and i % 2:
                continue
            before[i] = meant[i // 4]
            meant[i // 4] = meant[i // 4] + x[i]
        compare(f"atomic_add {masked}", out, meant)
        kept = torch.arange(256) % 2 == 0 if masked else torch.ones(256, dtype=torch.bool)
        compare(f"atomic_add {masked}: before", old.cpu()[kept], before[kept])


@triton.jit
def products(a, b, c, o, KIND: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * M + m[None, :])
    at = m[:, None] * M + m[None, :]
    if KIND == "plain":
        d = tl.dot(left, right)
    elif KIND == "added":
        d = tl.dot(left, right, tl.load(c + at))
    elif KIND == "by terms":
        d = tl.sum(left[:, :, None] * right[None, :, :], axis=1)
    else:
        d = tl.dot(left, right).to(tl.bfloat16) * tl.load(c + at).to(tl.bfloat16)
    tl.store(o + at, d)


def dots() -> None:
    a, b = drawn(16 * 32, 9, small=True).view(16, 32), drawn(32 * 16, 10, small=True).view(32, 16)
    c = drawn(256, 11, small=True).view(16, 16).float()
    exact = a.double() @ b.double()
    meant = {
        "plain": exact,
        "added": exact + c.double(),
        "by terms": exact,
        "scaled": exact.bfloat16().double() * c.double(),
    }
    for kind, value in meant.items():
        for dtype in (BF, torch.float32) if kind != "by terms" else (BF,):
            out = torch.empty(16, 16, dtype=dtype, device=DEVICE)
            products[(1,)](a.to(DEVICE), b.to(DEVICE), c.to(DEVICE), out, kind, 16, 32)
            rounded = value.bfloat16() if kind == "scaled" else value
            compare(f"dot {kind} {dtype}", out, rounded.to(dtype))


def main() -> None:
    """Run all, and print what was wrong."""
    for part in (every_number, pairs, every_row, atomics, dots):
        try:
            part()
        except Exception as error:
            WRONG[part.__name__] = f"{type(error).__name__}: {error}"
    print(json.dumps(WRONG))
    sys.exit(0)


if __name__ == "__main__":
    main()
