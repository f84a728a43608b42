"""torch's own operator database on device ``mlx``, compared with the CPU.

``python tests/accelerators/mlx/opdb.py`` prints the report; ``test_opdb.py`` runs the same cases as tests.  A case is one operator of
``torch.testing._internal.common_methods_invocations.op_db``, one dtype and one kind: ``forward``, ``backward``,
``inplace`` or ``out``.  It passes when every sample gives the CPU's shape, dtype and numbers; it is *native* when no
sample used the boxed fallback on the device's side.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import torch

KINDS = ("forward", "backward", "inplace", "out")
DTYPES = ("float32", "float16", "bfloat16", "int64", "bool", "complex64")
SAMPLES = 5
SECONDS = 120
"""A case that takes longer counts as failed (it would hang the run)."""

# Draws differ between generators: shapes and dtypes are compared, numbers are not.
RANDOM = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "uniform", "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu", "pca_lowrank",
    "svd_lowrank",
}  # fmt: skip
# Which of several equal elements an index names is not defined.
TIES = {"argsort", "kthvalue", "sort", "topk", "median", "nanmedian", "mode", "msort", "max", "min"}
# Contents are whatever memory held.
UNDEFINED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

# Cases that no device could pass or that the device refuses on purpose. Key: (name with variant, kind or "*", dtype or "*").
SKIPPED: dict[tuple[str, str, str], str] = {
    (
        "as_strided.partial_views",
        "*",
        "*",
    ): "the samples reach outside their tensor; a tensor brought from the CPU has only its own elements",
    ("chalf", "*", "*"): "complex32 is not a type of this device",
    (
        "fft.ihfft2",
        "out",
        "*",
    ): "torch composes it wrongly over one dimension: out= is left unwritten, on the CPU too",
    (
        "fft.ihfftn",
        "out",
        "*",
    ): "torch composes it wrongly over one dimension: out= is left unwritten, on the CPU too",
    ("complex", "out", "float16"): "complex32 is not a type of this device",
    ("view_as_complex", "*", "float16"): "complex32 is not a type of this device",
    (
        "native_batch_norm",
        "forward",
        "float16",
    ): "the saved statistics are float32, as on CUDA; the CPU's are 16-bit",
    (
        "native_batch_norm",
        "forward",
        "bfloat16",
    ): "the saved statistics are float32, as on CUDA; the CPU's are 16-bit",
    (
        "_native_batch_norm_legit",
        "forward",
        "float16",
    ): "the saved statistics are float32, as on CUDA; the CPU's are 16-bit",
    (
        "_native_batch_norm_legit",
        "forward",
        "bfloat16",
    ): "the saved statistics are float32, as on CUDA; the CPU's are 16-bit",
    (
        "jiterator_2inputs_2outputs",
        "*",
        "*",
    ): "compiles CUDA source; torch itself refuses any other device",
    (
        "jiterator_4inputs_with_extra_args",
        "*",
        "*",
    ): "compiles CUDA source; torch itself refuses any other device",
    ("jiterator_binary", "*", "*"): "compiles CUDA source; torch itself refuses any other device",
    (
        "jiterator_binary_return_by_ref",
        "*",
        "*",
    ): "compiles CUDA source; torch itself refuses any other device",
    ("jiterator_unary", "*", "*"): "compiles CUDA source; torch itself refuses any other device",
    ("to_sparse", "*", "*"): "the device has strided tensors only, and says so",
}

# Operators whose tensor arguments, all but the first, must be on the CPU, on CUDA as here.
ON_CPU = {"tensor_split"}

# torch's own tolerances per dtype (torch.testing), with room for float32 sums in another order.
TOLERANCE = {
    torch.float32: (2e-4, 5e-5), torch.complex64: (2e-4, 5e-5), torch.float16: (5e-3, 2e-3), torch.bfloat16: (2.5e-2, 2e-2),
    torch.float64: (1e-6, 1e-7), torch.complex128: (1e-6, 1e-7),
}  # fmt: skip


@dataclass
class Outcome:
    """What one case did."""

    status: str
    """pass, fail, or none (the CPU has no answer to any sample)."""
    native: bool = True
    fallbacks: Counter[str] = field(default_factory=Counter)
    message: str = ""


def name_of(op: Any) -> str:
    return str(op.name) + (f".{op.variant_test_name}" if op.variant_test_name else "")


def moved(x: Any, grad: bool = False) -> Any:
    """`x` with its tensors on the device."""
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.is_quantized:
            raise Inapplicable("sparse and quantised tensors do not exist on the device")
        y = x.detach().to("mlx")
        return y.requires_grad_(x.requires_grad) if grad or x.requires_grad else y
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        return x
    if isinstance(x, (list, tuple)):
        made = [moved(y, grad) for y in x]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    if isinstance(x, dict):
        return {k: moved(v, grad) for k, v in x.items()}
    if isinstance(x, torch.device) or x == "cpu":
        return torch.device("mlx") if isinstance(x, torch.device) else "mlx"
    return x


class Inapplicable(Exception):
    """The sample cannot be put on the device."""


def tensors(x: Any) -> list[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for y in x for t in tensors(y)]
    if isinstance(x, dict):
        return [t for y in x.values() for t in tensors(y)]
    return []


def compare(actual: Any, expected: Any, name: str, wide: Any = None, source: Any = None) -> None:
    """Raise AssertionError when the device's answer is not the CPU's.

    `wide` gives the answer computed in float32, for 16-bit floats: torch's own CPU kernels round differently from each
    other there, and an answer as near to the wide one as the CPU's is right.  `source` is the input of a sort.
    """
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, torch.Tensor), f"{type(actual)} instead of a tensor"
        assert actual.dtype == expected.dtype, f"dtype {actual.dtype} instead of {expected.dtype}"
        assert actual.shape == expected.shape, (
            f"shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
        )
        if expected.layout is not torch.strided:
            return
        got = actual.detach().cpu().resolve_conj()
        if name in RANDOM | UNDEFINED:
            return
        rtol, atol = TOLERANCE.get(expected.dtype, (0, 0))
        try:
            torch.testing.assert_close(got, expected.detach(), rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError:
            if name in TIES and expected.dtype is torch.int64 and source is not None:
                _same_elements(source, got, expected)
            elif (
                wide is not None
                and isinstance(wide, torch.Tensor)
                and expected.dtype in (torch.float16, torch.bfloat16)
            ):
                _as_near(got, expected, wide, rtol, atol)
            else:
                raise
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            compare(a, e, name, wide[i] if isinstance(wide, (list, tuple)) else None, source)
    elif isinstance(expected, float):
        assert abs(actual - expected) <= 1e-4 * max(1, abs(expected)) or (
            actual != actual and expected != expected
        )
    elif isinstance(expected, (int, bool, torch.dtype, torch.Size)) or expected is None:
        assert actual == expected, f"{actual!r} instead of {expected!r}"


def _as_near(
    got: torch.Tensor, expected: torch.Tensor, wide: torch.Tensor, rtol: float, atol: float
) -> None:
    wide = wide.detach().float()
    ours, theirs = (got.float() - wide).abs(), (expected.detach().float() - wide).abs()
    room = 2 * theirs.nan_to_num(torch.inf).max() + atol + rtol * wide.abs()
    assert ((ours <= room) | (got.isnan() & wide.isnan()) | (got == wide)).all(), (
        f"off by {ours.max().item():.3g} from the float32 answer, the CPU's {expected.dtype} answer by {theirs.max().item():.3g}"
    )


def _same_elements(source: torch.Tensor, got: torch.Tensor, expected: torch.Tensor) -> None:
    """Two index tensors of a sort may differ where elements are equal: the elements they pick may not."""
    for dim in range(source.dim()):
        same = [n for i, n in enumerate(source.shape) if i != dim] == [
            n for i, n in enumerate(got.shape) if i != dim
        ]
        if (
            got.dim() == source.dim()
            and same
            and torch.equal(source.gather(dim, got), source.gather(dim, expected))
        ):
            return
        if got.dim() == source.dim() - 1 and torch.equal(
            (
                source.gather(dim, got.unsqueeze(dim))
                if [n for i, n in enumerate(source.shape) if i != dim] == list(got.shape)
                else torch.empty(0)
            ),
            (
                source.gather(dim, expected.unsqueeze(dim))
                if [n for i, n in enumerate(source.shape) if i != dim] == list(got.shape)
                else torch.empty(1)
            ),
        ):
            return
    raise AssertionError("the indices pick other elements than the CPU's")


def widened(x: Any) -> Any:
    """`x` with its 16-bit floats as float32."""
    if isinstance(x, torch.Tensor):
        return (
            x.detach().float().requires_grad_(x.requires_grad)
            if x.dtype in (torch.float16, torch.bfloat16)
            else x
        )
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(widened(y) for y in x)
    if isinstance(x, dict):
        return {k: widened(v) for k, v in x.items()}
    return torch.float32 if x in (torch.float16, torch.bfloat16) else x


def _wide(call: Any, sample: Any, dtype: torch.dtype) -> Any:
    if dtype not in (torch.float16, torch.bfloat16):
        return None
    torch.manual_seed(11)
    try:
        return call(
            widened(sample.input), widened(tuple(sample.args)), widened(dict(sample.kwargs))
        )
    except Exception:
        return None


def samples(op: Any, dtype: torch.dtype, grad: bool) -> Iterator[Any]:
    torch.manual_seed(7)
    yield from islice(op.sample_inputs("cpu", dtype, requires_grad=grad), SAMPLES)


def _forward(op: Any, sample: Any, name: str, dtype: torch.dtype) -> None:
    expected = _expected(op, sample)
    wide = _wide(lambda x, a, k: op(x, *a, **k), sample, dtype)
    compare(_device(op, sample), expected, name, wide, sample.input)


def _expected(op: Any, sample: Any, f: Any = None) -> Any:
    torch.manual_seed(11)
    try:
        return (f or op)(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:
        raise Inapplicable(f"the CPU raises {type(error).__name__}") from error


def _arguments(op: Any, sample: Any) -> tuple[Any, Any, Any]:
    if op.name in ON_CPU:
        return moved(sample.input), sample.args, sample.kwargs
    return moved(sample.input), moved(tuple(sample.args)), moved(dict(sample.kwargs))


def _device(op: Any, sample: Any, f: Any = None) -> Any:
    x, args, kwargs = _arguments(op, sample)
    torch.manual_seed(11)
    return (f or op)(x, *args, **kwargs)


def _loss(out: Any) -> torch.Tensor | None:
    total = None
    for t in tensors(out):
        if t.requires_grad:
            part = (
                (t.abs() if t.is_complex() else t)
                .to(torch.float32 if not t.is_complex() else None)
                .sum()
                if t.dtype != torch.float64
                else t.sum()
            )
            total = part if total is None else total + part
    return total


def _leaves(x: Any) -> list[torch.Tensor]:
    return [t for t in tensors(x) if t.requires_grad]


def _backward(op: Any, sample: Any, name: str, dtype: torch.dtype) -> None:
    def grads(s: tuple[Any, Any, Any]) -> Any:
        out = op(s[0], *s[1], **s[2])
        if sample.output_process_fn_grad is not None:
            out = sample.output_process_fn_grad(out)
        loss = _loss(out)
        leaves = _leaves(s)
        if loss is None or not leaves:
            raise Inapplicable("nothing to differentiate")
        return torch.autograd.grad(loss, leaves, allow_unused=True)

    device = _arguments(op, sample)
    torch.manual_seed(11)
    try:
        expected = grads((sample.input, sample.args, sample.kwargs))
    except Exception as error:
        raise Inapplicable(f"the CPU raises {type(error).__name__}") from error
    torch.manual_seed(11)
    compare(grads(device), expected, name, _wide(lambda *s: grads(s), sample, dtype))


def _inplace(op: Any, sample: Any, name: str, dtype: torch.dtype) -> None:
    variant = op.inplace_variant
    copy = sample.input.clone()
    x, args, kwargs = _arguments(op, sample)
    torch.manual_seed(11)
    try:
        expected = variant(copy, *sample.args, **sample.kwargs)
    except Exception as error:
        raise Inapplicable("the CPU raises") from error
    torch.manual_seed(11)
    actual = variant(x, *args, **kwargs)
    assert actual is x, "the in-place operator returned another tensor"
    compare(
        actual, expected, name, _wide(lambda x, a, k: variant(x.clone(), *a, **k), sample, dtype)
    )


def _out(op: Any, sample: Any, name: str, dtype: torch.dtype) -> None:
    expected = _expected(op, sample)
    if not tensors(expected) or any(t.layout is not torch.strided for t in tensors(expected)):
        raise Inapplicable("no tensors come out")

    def out_like(e: Any, device: str) -> Any:
        if isinstance(e, torch.Tensor):
            return torch.empty(e.shape, dtype=e.dtype, device=device)
        return (
            type(e)([out_like(y, device) for y in e])
            if not hasattr(e, "_fields") and type(e) in (list, tuple)
            else tuple(out_like(y, device) for y in e)
        )

    try:
        torch.manual_seed(11)
        on_cpu = op(sample.input, *sample.args, **sample.kwargs, out=out_like(expected, "cpu"))
    except Exception as error:
        raise Inapplicable("the CPU raises") from error
    x, args, kwargs = _arguments(op, sample)
    out = out_like(expected, "mlx")
    torch.manual_seed(11)
    result = op(x, *args, **kwargs, out=out)
    wide = _wide(lambda x, a, k: op(x, *a, **k), sample, dtype)
    compare(out, expected if on_cpu is None else on_cpu, name, wide, sample.input)
    if result is None:
        return
    for a, b in zip(tensors(result), tensors(out), strict=True):
        assert a is b or a.untyped_storage()._cdata == b.untyped_storage()._cdata, (
            "out= was not written to"
        )


_RUN = {"forward": _forward, "backward": _backward, "inplace": _inplace, "out": _out}


def applies(op: Any, kind: str, dtype: torch.dtype) -> bool:
    """Whether the database has such a case."""
    if not op.supports_dtype(dtype, "cpu"):
        return False
    if kind == "backward":
        return bool(
            op.supports_autograd
            and (dtype.is_floating_point or dtype.is_complex)
            and dtype in op.supported_backward_dtypes("cpu")
        )
    if kind == "inplace":
        return op.inplace_variant is not None
    return bool(op.supports_out) if kind == "out" else True


class Slow(Exception):
    """The case took too long."""


def _alarm(*_: Any) -> None:
    raise Slow(f"more than {SECONDS} s")


def run(op: Any, kind: str, dtype: torch.dtype) -> Outcome:
    """Run one case."""
    from tdev_core.accelerators.mlx.dispatch import fallback

    name, ran, used = op.name, 0, Counter[str]()
    old = signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    fallback.quiet += 1
    try:
        with warnings.catch_warnings(), _without_looking_at_the_stack():
            warnings.simplefilter("ignore")
            for sample in samples(op, dtype, kind == "backward"):
                before = Counter(fallback.counts)
                try:
                    if sample.kwargs.get("dropout_p"):
                        continue  # random by argument
                    _RUN[kind](op, sample, name, dtype)
                    ran += 1
                except Inapplicable:
                    continue
                finally:
                    used += Counter(fallback.counts) - before
    except Slow as error:
        return Outcome("fail", False, used, str(error))
    except Exception as error:
        return Outcome("fail", not used, used, f"{type(error).__name__}: {str(error)[:300]}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
        fallback.quiet -= 1
    return Outcome("pass" if ran else "none", not used, used)


@contextmanager
def _without_looking_at_the_stack() -> Iterator[None]:
    """Have torch seed the CPU's generator and the device's alone, and not search the stack for a test of its own.

    ``torch.manual_seed`` formats the whole stack for each kind of device that is not initialised, and the database seeds
    before every sample: that was more than half of the time of a case.
    """
    from torch.testing._internal import common_utils

    from tdev_core.accelerators.mlx import generators

    def seed(number: int) -> torch.Generator:
        generators.default().manual_seed(number)
        return torch.default_generator.manual_seed(number)

    before = torch.manual_seed, common_utils.extract_test_fn
    torch.manual_seed, common_utils.extract_test_fn = seed, lambda: None
    try:
        yield
    finally:
        torch.manual_seed, common_utils.extract_test_fn = before


def skip_reason(name: str, kind: str, dtype: str) -> str | None:
    for k in (kind, "*"):
        for d in (dtype, "*"):
            if (name, k, d) in SKIPPED:
                return SKIPPED[name, k, d]
    return None


def database() -> list[Any]:
    """The operators, in a fixed order; one case for each name and variant."""
    from torch.testing._internal.common_methods_invocations import op_db

    return sorted(op_db, key=name_of)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--only", action="append", default=[], help="names that contain this")
    parser.add_argument("--json", type=Path, help="write every outcome here")
    parser.add_argument("--failures", action="store_true", help="print each failure")
    parser.add_argument(
        "--fallbacks",
        action="store_true",
        help="print which overloads fell back, most operators first",
    )
    options = parser.parse_args()
    import tdev_core.accelerators.mlx

    tdev_core.accelerators.mlx.activate()
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by_overload: dict[str, set[str]] = defaultdict(set)
    every: dict[str, Any] = {}
    start = time.monotonic()
    for op in database():
        name = name_of(op)
        if options.only and not any(part in name for part in options.only):
            continue
        for kind in options.kind or KINDS:
            for dtype in options.dtype or DTYPES:
                if not applies(op, kind, getattr(torch, dtype)):
                    continue
                if skip_reason(name, kind, dtype):
                    rows[kind, dtype]["skipped"] += 1
                    continue
                r = run(op, kind, getattr(torch, dtype))
                rows[kind, dtype][r.status] += 1
                rows[kind, dtype]["native"] += r.status == "pass" and r.native
                for overload in r.fallbacks:
                    by_overload[overload].add(name)
                every[f"{name} {kind} {dtype}"] = [
                    r.status,
                    r.native,
                    sorted(r.fallbacks),
                    r.message,
                ]
                if r.status == "fail" and options.failures:
                    print(f"FAIL {name} {kind} {dtype}: {r.message}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{name:<60}", end="", file=sys.stderr)
    print(
        f"\n{'kind':<9} {'dtype':<10} {'pass':>5} {'total':>6} {'%':>6} {'native':>7} {'%':>6} {'skipped':>8}"
    )
    for (kind, dtype), c in rows.items():
        total = c["pass"] + c["fail"]
        if total:
            print(f"{kind:<9} {dtype:<10} {c['pass']:>5} {total:>6} {100 * c['pass'] / total:>6.1f} "
                  f"{c['native']:>7} {100 * c['native'] / total:>6.1f} {c['skipped']:>8}")  # fmt: skip
    print(
        f"{time.monotonic() - start:.0f} s, at most {SAMPLES} samples of each operator, torch {torch.__version__}"
    )
    if options.fallbacks:
        for overload, names in sorted(by_overload.items(), key=lambda p: -len(p[1])):
            print(f"{len(names):>4} {overload}: {', '.join(sorted(names)[:8])}")
    if options.json:
        options.json.write_text(json.dumps(every, indent=0))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
