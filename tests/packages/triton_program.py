"""A program with kernels in Triton; prints for each case how it came out, as JSON. Run by ``test_interpreter.py``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import tdev  # before triton, which it has to tell
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.interpreter import InterpreterBuilder

DEVICE = os.environ["KERNELS_ON"]
CASES: dict[str, Callable[[], Any]] = {}
BEFORE_3_9 = tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9)


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 3
    return made.to(dtype).to(DEVICE)


def same(found: torch.Tensor, meant: torch.Tensor) -> bool:
    """Bit for bit, where no number is NaN."""
    found, meant = found.cpu(), meant.cpu()
    if found.dtype == torch.bfloat16:
        found, meant = found.view(torch.int16), meant.view(torch.int16)
    return bool(found.dtype == meant.dtype and torch.equal(found, meant))


@triton.jit
def binary(x, y, o, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    if OP == "add":
        c = a + b
    elif OP == "sub":
        c = a - b
    elif OP == "mul":
        c = a * b
    elif OP == "max":
        c = tl.maximum(a, b)
    elif OP == "where":
        c = tl.where(a > b, a, -b)
    elif OP == "abs":
        c = tl.abs(a)
    elif OP == "scalar":
        c = a * 2.5 + 1.0
    else:
        c = (a.to(tl.float32) * b.to(tl.float32)).to(tl.bfloat16)
    tl.store(o + i, c)


PLAIN: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": torch.maximum,
    "where": lambda a, b: torch.where(a > b, a, -b),
    "abs": lambda a, b: a.abs(),
    "scalar": lambda a, b: a * 2.5 + 1.0,
    "casts": lambda a, b: (a.float() * b.float()).bfloat16(),
}


def computes(name: str) -> Callable[[], bool]:
    def run() -> bool:
        x, y = numbers(256, seed=1), numbers(256, seed=2)
        out = torch.empty_like(x)
        binary[(1,)](x, y, out, name, 256)
        return same(out, PLAIN[name](x, y))

    return run


CASES |= {f"bfloat16 {name}": computes(name) for name in PLAIN}


@triton.jit
def casts(x, f, h, i, back, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    tl.store(f + at, a.to(tl.float32))
    tl.store(h + at, a.to(tl.float16))
    tl.store(i + at, a.to(tl.int32))
    tl.store(back + at, a.to(tl.int32).to(tl.bfloat16))


@case
def bfloat16_casts() -> bool:
    x = numbers(64)
    kinds = (torch.float32, torch.float16, torch.int32)
    out = [torch.empty_like(x, dtype=kind) for kind in (*kinds, torch.bfloat16)]
    casts[(1,)](x, *out, 64)
    meant = [x.to(kind) for kind in kinds]
    return all(map(same, out, [*meant, meant[2].bfloat16()]))


@triton.jit
def every_float(x, o, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + at, tl.load(x + at).to(tl.bfloat16))


@case
def bfloat16_rounds_as_torch() -> bool:
    """Ties, subnormal numbers, the largest and infinity among them."""
    bits = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32)
    near = torch.cat([(bits << 16) + low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    x = near.view(torch.float32)
    x = x[~x.isnan()]
    x = torch.cat([x, x.new_zeros(-len(x) % 1024)]).to(DEVICE)
    out = torch.empty_like(x, dtype=torch.bfloat16)
    every_float[(len(x) // 1024,)](x, out, 1024)
    return same(out, x.bfloat16())


@triton.jit
def combined(a, b):
    return a + b


@triton.jit
def reductions(x, total, largest, where, running, own, R: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, R)
    j = tl.arange(0, C)
    a = tl.load(x + i[:, None] * C + j[None, :])
    tl.store(total + i, tl.sum(a, axis=1))
    tl.store(largest + i, tl.max(a, axis=1))
    tl.store(where + i, tl.argmax(a, axis=1))
    tl.store(running + i[:, None] * C + j[None, :], tl.cumsum(a, axis=1))
    tl.store(own + i, tl.reduce(a, 1, combined))


@case
def bfloat16_reductions() -> bool:
    x = numbers(4, 8)
    like = {"dtype": torch.bfloat16, "device": DEVICE}
    total, largest, own = (torch.empty(4, **like) for _ in range(3))
    where, running = torch.empty(4, dtype=torch.int32, device=DEVICE), torch.empty_like(x)
    reductions[(1,)](x, total, largest, where, running, own, 4, 8)
    steps = x[:, 0]
    for column in x.T[1:]:
        steps = steps + column  # rounded at each step
    return (
        same(total, x.float().sum(1).bfloat16())
        and same(largest, x.amax(1))
        and same(where, x.argmax(1).int())
        and same(running, x.float().cumsum(1).bfloat16())
        and same(own, steps)
    )


@triton.jit
def product(a, b, short, long, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None] * N, tl.arange(0, N)[None, :]
    sums = tl.dot(tl.load(a + row + column), tl.load(b + row + column))
    tl.store(short + row + column, sums.to(tl.bfloat16))
    tl.store(long + row + column, sums)


@case
def bfloat16_dot() -> bool:
    """Bit for bit where sums are exact in float32, in whatever order they are made: torch's and the interpreter's differ."""
    a, b = ((numbers(16, 16, seed=s).float() * 64).round().bfloat16() for s in (1, 2))
    short, long = torch.empty_like(a), torch.empty(16, 16, device=DEVICE)
    product[(1,)](a, b, short, long, 16)
    exact = a.cpu().double() @ b.cpu().double()
    return same(long, exact.float().to(DEVICE)) and same(short, a @ b)


@triton.jit
def atomics(x, o, count, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(o + i % 2, tl.load(x + i))
    tl.atomic_add(count + i * 0, 1)


@case
def bfloat16_atomics() -> bool:
    """One after the other, each rounded."""
    x = numbers(16)
    out, count = (
        torch.zeros(2, dtype=torch.bfloat16, device=DEVICE),
        torch.zeros(1, dtype=torch.int32, device=DEVICE),
    )
    atomics[(1,)](x, out, count, 16)
    meant = torch.zeros(2, dtype=torch.bfloat16)
    for pair in x.cpu().view(-1, 2):
        meant = meant + pair
    return same(out, meant) and count.item() == 16


@triton.jit
def padded(x, o, R: tl.constexpr, B: tl.constexpr, POINTER: tl.constexpr):
    if POINTER:
        block = tl.make_block_ptr(x, (R,), (1,), (0,), (B,), (0,))
        a = tl.load(block, boundary_check=(0,), padding_option="nan")
    else:
        a = tl.make_tensor_descriptor(x, [R], [1], [B], padding_option="nan").load([0])
    tl.store(o + tl.arange(0, B), a)


@case
def bfloat16_padding_is_nan() -> bool:
    good = True
    for pointer in (False, *[True] * hasattr(InterpreterBuilder, "create_tensor_pointer_load")):
        out = torch.zeros(16, dtype=torch.bfloat16, device=DEVICE)
        padded[(1,)](torch.ones(15, dtype=torch.bfloat16, device=DEVICE), out, 15, 16, pointer)
        good = good and bool((out[:15] == 1).all()) and bool(out[15].isnan())
    return good


@triton.jit
def descriptors(x, o, R, C, B: tl.constexpr):
    """Blocks of two dimensions by descriptors, cut off at the tensor's end."""
    source = tl.make_tensor_descriptor(x, [R, C], [C, 1], [B, B])
    target = tl.make_tensor_descriptor(o, [R, C], [C, 1], [B, B])
    at = [tl.program_id(0) * B, tl.program_id(1) * B]
    target.store(at, source.load(at) * 2)


@case
def tensor_descriptors() -> bool:
    x = numbers(6, 12, dtype=torch.float32)
    out = torch.zeros_like(x)
    descriptors[(2, 3)](x, out, 6, 12, 4)
    return same(out, x * 2)


@triton.jit
def eighths(x, high, low, back, N: tl.constexpr, RTZ: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    a = tl.load(x + i)
    if RTZ:
        tl.store(low + i, a.to(tl.float8e5, fp_downcast_rounding="rtz"))
    else:
        tl.store(high + i, a.to(tl.float8e4nv))
        tl.store(low + i, a.to(tl.float8e5))
        tl.store(back + i, tl.load(high + i).to(tl.float32))


@case
def float8_rounds_as_torch() -> bool:
    """All 16-bit floats and what is near a tie; what is too large becomes the largest, and NaN stays."""
    bits = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32)
    half = bits.to(torch.int16).view(torch.float16).float()
    near = torch.cat([half, half * (1 + 2**-20), half * (1 - 2**-20)])
    good = True
    for x in (near, near.half(), near.double() * (1 + 2**-40)):
        high, low = (
            torch.empty(len(x), dtype=d, device=DEVICE)
            for d in (torch.float8_e4m3fn, torch.float8_e5m2)
        )
        back = torch.empty(len(x), device=DEVICE)
        eighths[(len(x) // 4096,)](x.to(DEVICE), high, low, back, 4096, False)
        for found in (high, low):
            finite = x.double().clamp(-torch.finfo(found.dtype).max, torch.finfo(found.dtype).max)
            spread = torch.arange(256, dtype=torch.uint8).view(found.dtype).double()
            spread = spread[spread.isfinite()].unique()
            above = torch.searchsorted(spread, finite.nan_to_num(0.0)).clamp(1, len(spread) - 1)
            down, up = spread[above - 1], spread[above]
            gap = (finite - down) - (up - finite)
            even = (torch.arange(len(spread)) - len(spread) // 2) % 2 == 0
            meant = torch.where(
                gap < 0, down, torch.where(gap > 0, up, torch.where(even[above], up, down))
            )
            meant = torch.where(finite.isnan(), finite, meant)
            good = good and torch.equal(
                found.cpu().double().nan_to_num(7777), meant.nan_to_num(7777)
            )
        good = good and torch.equal(back.nan_to_num(7777), high.float().nan_to_num(7777))
    low = torch.empty(len(near), dtype=torch.float8_e5m2, device=DEVICE)
    eighths[(len(near) // 4096,)](near.to(DEVICE), low, low, low, 4096, True)
    cut = (near.half().view(torch.int16) >> 8).to(torch.uint8).view(torch.float8_e5m2)
    exact = near == near.half()
    kept = near.isfinite() & exact
    return good and torch.equal(low.cpu().float()[kept], cut.float()[kept])


@triton.jit
def multiplied(a, b, o, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None] * N, tl.arange(0, N)[None, :]
    tl.store(o + row + column, tl.dot(tl.load(a + row + column), tl.load(b + row + column)))


@case
def float8_dot() -> bool:
    a, b = (numbers(16, 16, seed=s, dtype=torch.float32).to(torch.float8_e4m3fn) for s in (1, 2))
    out = torch.empty(16, 16, device=DEVICE)
    multiplied[(1,)](a, b, out, 16)
    torch.testing.assert_close(out.cpu(), a.cpu().float() @ b.cpu().float())
    return True


@triton.jit
def conditions(x, o, n, m, flag, N: tl.constexpr, ON: tl.constexpr):
    i = tl.arange(0, N)
    inside = (i >= n) and (i < m)
    ends = not ((i >= n) or ON and (i >= m))
    a = tl.load(x + i)
    if flag and n < m:
        a = a + 1
    tl.store(o + i, tl.where(inside, a, tl.where(ends, 0.0, ~tl.full((N,), 0, tl.uint8))))


@case
def blocks_have_no_truth_of_their_own() -> bool:
    x = numbers(8, dtype=torch.float32)
    out = torch.empty_like(x)
    good = True
    for flag in (False, True):
        for on in (False, True):
            conditions[[1]](x, out, 2, 5, flag, 8, on)
            meant = torch.full((8,), 255.0)
            meant[:2], meant[2:5] = 0.0, x.cpu()[2:5] + flag
            good = good and torch.equal(out.cpu(), meant)
    return good


@triton.jit
def stepped(o, n, N: tl.constexpr):
    total = tl.zeros((N,), tl.int64)
    for i in range(n):
        j = (2 * i + 1).to(tl.int64)
        wide = (-i).to(tl.float32).broadcast_to((N,))
        if i % 2 == 1 and not i == 3:
            total += j * 3_000_000_000 + tl.arange(0, N) // (i + 1)
        total += wide.to(tl.int64)
    for k in tl.static_range(2):
        total += k
    tl.store(o + tl.arange(0, N), total)


@case
def the_number_of_a_loop_is_a_tensor_too() -> bool:
    out = numbers(4, dtype=torch.int64)
    stepped[(1,)](out, 6, 4)
    meant = torch.zeros(4, dtype=torch.int64)
    for i in range(6):
        meant += (2 * i + 1) * 3_000_000_000 + torch.arange(4) // (i + 1) if i in (1, 5) else 0
        meant -= i
    return torch.equal(out.cpu(), meant + 1)


@triton.jit
def filled(x, o, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(o + i, tl.load(x + i))


@case
def a_function_for_the_grid_is_given_the_arguments_themselves() -> bool:
    x = numbers(4, 8, dtype=torch.float32)
    out = torch.empty_like(x)
    filled[lambda meta: (meta["x"].shape[0], meta["o"].is_contiguous().__index__())](x, out, N=8)
    nothing = torch.zeros_like(x)
    filled[(0,)](x, nothing, 8)
    return same(out, x) and not bool(nothing.any())


@triton.autotune([triton.Config({"B": 16}), triton.Config({"B": 32})], key=["K"])
@triton.jit
def matmul(a, b, c, M, N, K, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        left = tl.load(
            a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0
        )
        right = tl.load(
            b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0
        )
        total = tl.dot(left, right, total)
    tl.store(
        c + i[:, None] * N + j[None, :],
        total.to(c.dtype.element_ty),
        mask=(i[:, None] < M) & (j[None, :] < N),
    )


@case
def matmul_with_autotune() -> bool:
    good = True
    for dtype in (torch.bfloat16, torch.float32):
        a, b = numbers(20, 24, seed=3, dtype=dtype), numbers(24, 40, seed=4, dtype=dtype)
        c = torch.empty(20, 40, dtype=dtype, device=DEVICE)
        matmul[lambda meta: (triton.cdiv(20, meta["B"]), triton.cdiv(40, meta["B"]))](
            a, b, c, 20, 40, 24
        )
        meant = (a.cpu().double() @ b.cpu().double()).to(dtype)
        torch.testing.assert_close(
            c.cpu(), meant, rtol=2**-7 if dtype == torch.bfloat16 else 1e-5, atol=1e-4
        )
        good = good and c.device == a.device
    return good


@triton.heuristics({"B": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, B)
    kept = tl.arange(0, B) < n
    a = tl.load(x + at, mask=kept, other=-float("inf"))
    e = tl.exp(a - tl.max(a, axis=0))
    tl.store(o + at, e / tl.sum(e, axis=0), mask=kept)


@case
def softmax_with_heuristics() -> bool:
    x = numbers(3, 11, dtype=torch.float32)
    out = torch.empty_like(x)
    softmax[(3,)](x, out, 11)
    torch.testing.assert_close(out, x.softmax(1))
    return True


@triton.jit
def dropout(x, o, p, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    kept = tl.rand(seed, i) > p.to(tl.float32)  # on a GPU a float has come as a tensor
    tl.store(o + i, tl.where(kept, tl.load(x + i) / (1 - p), 0.0))


@case
def dropout_with_a_seed() -> bool:
    x = torch.ones(512, device=DEVICE)
    one, two, other = (torch.empty_like(x) for _ in range(3))
    for out, seed in ((one, 7), (two, 7), (other, 8)):
        dropout[(1,)](x, out, 0.25, seed, 512)
    return (
        torch.equal(one, two)
        and not torch.equal(one, other)
        and 0.6 < float((one != 0).float().mean()) < 0.9
    )


@triton.jit
def device_functions(x, o, flags, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = libdevice.tanh(a) + libdevice.erf(a) + libdevice.pow(a * a, 1.5) + libdevice.round(a)
    tl.store(o + i, b + libdevice.rsqrt(a * a + 1.0))
    tl.store(flags + i, libdevice.isnan(a))


@case
def libdevice_functions() -> bool:
    x = numbers(32, dtype=torch.float32)
    out, flags = torch.empty_like(x), torch.empty_like(x, dtype=torch.int32)
    device_functions[(1,)](x, out, flags, 32)
    meant = x.tanh() + x.erf() + (x * x) ** 1.5 + x.round() + (x * x + 1).rsqrt()
    torch.testing.assert_close(out, meant)
    return not bool(flags.any())


@triton.jit
def lacking(x):
    tl.store(x, libdevice.cyl_bessel_i0(tl.load(x)))


@triton.jit
def doubled(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 2)


@triton.jit
def between(x, first, last, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    a = tl.where(first < i < last, a + 1, a)
    b = tl.where(not (first < i <= last - 2 < 5) or (0 < first > 4), a, a)
    tl.store(x + i, tl.where(3 < i < last < 8 < 9, b + 1, b))


@triton.jit
def odd(x, n, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    if KIND == "float8":
        tl.store(x + i, a + a)
    elif KIND == "chain":
        tl.store(x + i, a, mask=0 < i < n)
    elif KIND == "block":
        if i < n:
            tl.store(x + i, a)
    else:
        tl.atomic_cas(x + N, 0, 1)


def refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def doubles(grid: Any, x: Any = None, **options: Any) -> Callable[[], str]:
    return lambda: refused(lambda: doubled[grid](numbers(16) if x is None else x, N=16, **options))


def oddly(kind: str, dtype: torch.dtype = torch.float32) -> Callable[[], str]:
    return lambda: refused(lambda: odd[(1,)](torch.zeros(8, device=DEVICE).to(dtype), 4, 8, kind))


def chained() -> str:
    """The compiler takes it since 3.9: say what the older ones do, if the values are right."""
    x = torch.zeros(8, device=DEVICE)
    between[(1,)](x, 1, 6, 8)
    good = x.tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 0.0, 0.0]
    return "before 3.9 has no a < b < c" if good else str(x)


CASES |= {
    "libdevice without meaning": lambda: refused(
        lambda: lacking[(1,)](numbers(1, dtype=torch.float32))
    ),
    "out of bounds": lambda: refused(lambda: doubled[(1,)](numbers(12), 16)),
    "compared and changed out of bounds": oddly("cas", torch.int32),
    "a grid of fractions": doubles((16 / 16,)),
    "a grid of four": doubles((1, 1, 1, 1)),
    "a negative grid": doubles((-1,)),
    "an empty grid": doubles(()),
    "a number for a grid": doubles(1),
    "a function that gives fractions": doubles(lambda meta: (16 / meta["N"],)),
    "a function that gives four": doubles(lambda meta: (1, 1, 1, 1)),
    "a function that gives a number": doubles(lambda meta: 1),
    "a large grid": doubles((1, 65536)),
    "an unknown option": doubles((1,), num_wraps=4),
    "an argument that is lacking": lambda: refused(lambda: doubled[(1,)](N=16)),
    "no grid": lambda: refused(lambda: doubled(numbers(16), 16)),
    "complex numbers": doubles((1,), torch.zeros(16, dtype=torch.complex64, device=DEVICE)),
    "no memory": doubles((1,), torch.zeros(16, device="meta")),
    "sums of float8": oddly("float8", torch.float8_e5m2),
    "a chain of comparisons": oddly("chain") if BEFORE_3_9 else chained,
    "a block under if": oddly("block"),
    "mixed pointers": lambda: refused(
        lambda: binary[(1,)](
            numbers(16), torch.ones(16, dtype=torch.bfloat16), numbers(16), "add", 16
        )
    ),
}


@case
def inductor() -> bool:
    """Beside them, torch.compile builds what it builds for the CPU."""
    from torch._inductor.utils import run_and_get_code

    def function(a: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(a) * 2 + a.sin()

    x = torch.randn(64)
    found, code = run_and_get_code(torch.compile(function), x)
    torch.testing.assert_close(found, function(x))
    return "cpp_fused" in code[0] and "@triton" not in code[0]


def main() -> None:
    """Run the cases named by the arguments, or all but Inductor's, which takes long."""
    found = {}
    for name in sys.argv[1:] or [name for name in CASES if name != "inductor"]:
        try:
            found[name] = CASES[name]()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    found["module"] = sys.modules["triton"].__file__ is not None and triton.language is tl
    found["report"] = str(tdev.report())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
