"""Run torch's operator database on ``sim`` and compare every value with the CPU's, bit for bit.

    python tests/sim/opdb.py [--op PATTERN] [--samples N] [--json FILE]

Prints pass / total for each category and the failures, and exits with 1 if any is not in
``EXPECTED``. Categories: forward, backward, inplace, out; float32 and one of complex64 or int64.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

SEED = 20
CATEGORIES = ("forward", "backward", "inplace", "out")

# (operator, category) -> why it is not compared, or not equal. Shown in the report.
_NO_SPARSE = "sim has no sparse tensors; it says so"
EXPECTED: dict[tuple[str, str], str] = {
    (name, category): _NO_SPARSE
    for name in ("sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse")
    for category in CATEGORIES
}

_UNREPEATABLE = "LAPACK's gelsy does not repeat its own last bit on the CPU (workspace alignment)"
EXPECTED.update(
    ((name, category), _UNREPEATABLE)
    for name in ("linalg.lstsq", "linalg.lstsq.grad_oriented")
    for category in CATEGORIES
)

UNDEFINED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split()
)
"""Operators whose values mean nothing: shape, strides and dtype are compared."""

ON_CPU = frozenset({"tensor_split"})
"""Operators whose tensor arguments (all but the first) must be on the CPU, on CUDA as here."""


def op_database() -> list[Any]:
    """torch's list of ``OpInfo``."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def full_name(op: Any) -> str:
    """Name and variant, as in ``linalg.norm.subgradients_at_zero``."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def dtypes_for(op: Any) -> list[torch.dtype]:
    """float32 and one more of complex64, int64, where the CPU supports them; else any supported."""
    supported = op.supported_dtypes("cpu")
    chosen = [d for d in (torch.float32,) if d in supported]
    chosen += [d for d in (torch.complex64, torch.int64) if d in supported][:1]
    return chosen or sorted(supported, key=str)[:1]


def to_sim(value: Any) -> Any:
    """Tensors of ``value`` on ``sim`` with the same strides, storage layout and bits."""
    return tree_map(lambda x: _to_sim(x) if isinstance(x, torch.Tensor) else x, _devices(value))


def _devices(value: Any) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, torch.device) and x.type == "cpu":
            return torch.device("sim")
        return "sim" if isinstance(x, str) and x == "cpu" else x

    return tree_map(one, value)


def _to_sim(x: torch.Tensor) -> torch.Tensor:
    if x.layout != torch.strided:
        return x.to("sim")
    plain = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())  # type: ignore[call-overload]
    moved: torch.Tensor = plain.to("sim").as_strided(x.size(), x.stride(), x.storage_offset())
    if x.is_conj():
        moved = moved.conj()
    if x.is_neg():
        moved = torch._neg_view(moved)
    return moved.requires_grad_(x.requires_grad)


def copy(value: Any) -> Any:
    """Fresh CPU tensors with the same contents and strides."""

    def one(x: Any) -> Any:
        if not isinstance(x, torch.Tensor) or x.layout != torch.strided:
            return x
        plain = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage().clone())
        fresh = plain.as_strided(x.size(), x.stride(), x.storage_offset())
        fresh = fresh.conj() if x.is_conj() else fresh
        fresh = torch._neg_view(fresh) if x.is_neg() else fresh
        return fresh.requires_grad_(x.requires_grad)

    return tree_map(one, value)


def moved(op: Any, sample: Any) -> Any:
    """The arguments of ``sample``, copied and on ``sim``."""
    value, args, kwargs = copy((sample.input, sample.args, sample.kwargs))
    if op.name in ON_CPU:
        return to_sim(value), args, kwargs
    return to_sim((value, args, kwargs))


def difference(
    expected: Any, actual: Any, where: str = "result", values: bool = True
) -> str | None:
    """What distinguishes two results, or None: structure, dtype, shape, strides, device and bits."""
    left, left_spec = tree_flatten(expected)
    right, right_spec = tree_flatten(actual)
    if left_spec != right_spec:
        return f"{where}: structure {left_spec} against {right_spec}"
    for number, (x, y) in enumerate(zip(left, right, strict=True)):
        found = _difference(x, y, values)
        if found:
            return f"{where}[{number}]: {found}"
    return None


def _difference(x: Any, y: Any, values: bool) -> str | None:
    if not isinstance(x, torch.Tensor):
        same = x == y or (x != x and y != y) or isinstance(x, torch.device)
        return None if same else f"{x!r} against {y!r}"
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype} {tuple(x.shape)} against {y.dtype} {tuple(y.shape)}"
    if x.layout != torch.strided:
        return "not strided"
    if x.numel() and x.stride() != y.stride():
        return f"stride {x.stride()} against {y.stride()}"
    if y.device.type != "sim":
        return f"on {y.device}"
    if x.is_conj() != y.is_conj() or x.is_neg() != y.is_neg():
        return "conj or neg bit differs"
    host = y.cpu().resolve_conj().resolve_neg()
    if values and not torch.equal(_bits(x.detach().resolve_conj().resolve_neg()), _bits(host)):
        return "values differ"
    return None


def _bits(x: torch.Tensor) -> torch.Tensor:
    flat = x.detach().contiguous().clone().reshape(-1)
    if flat.dtype.is_complex:
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.dtype.is_floating_point:  # every NaN alike: its payload is not a value
        flat = torch.where(flat != flat, torch.full_like(flat, float("nan")), flat)
    return flat.view(torch.uint8)


compared: list[str] = []
"""One entry for each pair of results that was compared; both sides refusing is not a comparison."""


def attempt(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """The result of ``call``, or its exception; the random sequence starts anew."""
    torch.manual_seed(SEED)
    try:
        return call(), None
    except Exception as error:
        return None, error


def compare(
    cpu: Callable[[], Any], sim: Callable[[], Any], where: str, values: bool = True
) -> str | None:
    """Run both; None if equal or if both refuse."""
    expected, cpu_error = attempt(cpu)
    actual, sim_error = attempt(sim)
    if cpu_error is not None:
        return None if sim_error is not None else f"{where}: sim accepts what the CPU refuses"
    if sim_error is not None:
        return f"{where}: {type(sim_error).__name__}: {str(sim_error).splitlines()[0]}"
    compared.append(where)
    return difference(expected, actual, where, values)


def samples(op: Any, dtype: torch.dtype, limit: int, grad: bool) -> Iterator[Any]:
    """At most ``limit`` inputs, always the same."""
    torch.manual_seed(SEED)
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=grad)):
        if number >= limit:
            return
        yield sample


def forward(op: Any, dtype: torch.dtype, limit: int) -> list[str]:
    """Failures of plain calls."""
    failures = []
    for number, s in enumerate(samples(op, dtype, limit, False)):
        a, b = copy((s.input, s.args, s.kwargs)), moved(op, s)
        found = compare(
            lambda a=a: op(a[0], *a[1], **a[2]),
            lambda b=b: op(b[0], *b[1], **b[2]),
            f"{dtype} {number}",
            op.name not in UNDEFINED,
        )
        failures += [found] if found else []
    return failures


def _gradients(op: Any, sample: Any, arguments: Any) -> Any:
    value, args, kwargs = arguments
    result = op(value, *args, **kwargs)
    result = sample.output_process_fn_grad(result)
    outputs = [
        r for r in tree_flatten(result)[0] if isinstance(r, torch.Tensor) and r.requires_grad
    ]
    inputs = [
        x
        for x in tree_flatten((value, args, kwargs))[0]
        if isinstance(x, torch.Tensor) and x.requires_grad
    ]
    if not outputs or not inputs:
        return []
    seeds = []
    for number, r in enumerate(outputs):
        torch.manual_seed(number)
        seeds.append(torch.randn(r.shape, dtype=r.dtype).to(r.device))
    torch.manual_seed(SEED)
    return list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))


def backward(op: Any, dtype: torch.dtype, limit: int) -> list[str]:
    """Failures of gradients."""
    if not op.supports_autograd or not (dtype.is_floating_point or dtype.is_complex):
        return []
    if dtype not in op.supported_backward_dtypes("cpu"):
        return []
    failures = []
    for number, s in enumerate(samples(op, dtype, limit, True)):
        a, b = copy((s.input, s.args, s.kwargs)), moved(op, s)
        found = compare(
            lambda s=s, a=a: _gradients(op, s, a),
            lambda s=s, b=b: _gradients(op, s, b),
            f"{dtype} {number} gradient",
        )
        failures += [found] if found else []
    return failures


def inplace(op: Any, dtype: torch.dtype, limit: int) -> list[str]:
    """Failures of the in-place variant: its result, and what the input holds afterwards."""
    variant = op.inplace_variant
    if variant is None:
        return []
    failures = []
    for number, s in enumerate(samples(op, dtype, limit, False)):
        if s.broadcasts_input:
            continue
        a, b = copy((s.input, s.args, s.kwargs)), moved(op, s)
        found = compare(
            lambda a=a: (variant(a[0], *a[1], **a[2]), a[0]),
            lambda b=b: (variant(b[0], *b[1], **b[2]), b[0]),
            f"{dtype} {number} in-place",
        )
        failures += [found] if found else []
    return failures


def out(op: Any, dtype: torch.dtype, limit: int) -> list[str]:
    """Failures of ``out=``: into a tensor of the right shape and into an empty one."""
    if not op.supports_out:
        return []
    failures = []
    for number, s in enumerate(samples(op, dtype, limit, False)):
        reference, error = attempt(
            lambda s=s: op(*(lambda q: (q[0], *q[1]))(copy((s.input, s.args))), **copy(s.kwargs))
        )
        if error is not None:
            continue
        for kind in ("full", "empty"):
            a, b = copy((s.input, s.args, s.kwargs)), moved(op, s)
            if not all(isinstance(x, torch.Tensor) for x in tree_flatten(reference)[0]):
                continue  # torch.equal: its entry says out=, its result is a bool
            into = tree_map(
                lambda x, kind=kind: torch.zeros_like(x) if kind == "full" else x.new_empty(0),
                reference,
            )
            other = to_sim(copy(into))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = compare(
                    lambda a=a, into=into: (op(a[0], *a[1], **a[2], out=into), into),
                    lambda b=b, other=other: (op(b[0], *b[1], **b[2], out=other), other),
                    f"{dtype} {number} out= {kind}",
                    op.name not in UNDEFINED,
                )
            failures += [found] if found else []
    return failures


CHECKS: dict[str, Callable[[Any, torch.dtype, int], list[str]]] = {
    "forward": forward,
    "backward": backward,
    "inplace": inplace,
    "out": out,
}


def applies(op: Any, category: str) -> bool:
    """Whether ``category`` means something for ``op``."""
    return {
        "forward": True,
        "backward": bool(op.supports_autograd),
        "inplace": op.inplace_variant is not None,
        "out": bool(op.supports_out),
    }[category]


def check(op: Any, category: str, limit: int = 5) -> list[str]:
    """All failures of one operator in one category."""
    failures: list[str] = []
    for dtype in dtypes_for(op):
        try:
            failures += CHECKS[category](op, dtype, limit)
        except Exception as error:  # the harness itself, or a sample that cannot be moved
            failures.append(f"{dtype}: {type(error).__name__}: {str(error).splitlines()[0]}")
    return failures


def main(argv: list[str] | None = None) -> int:
    """Print the report; 1 if something fails that is not expected to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--op", default="*", help="only operators matching this pattern")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--category", choices=CATEGORIES, action="append")
    parser.add_argument("--json", help="write the failures to this file")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")

    import tdev_core.sim

    tdev_core.sim.activate()
    failures: dict[str, list[str]] = {}
    unexpected = 0
    for category in options.category or CATEGORIES:
        total = passed = reasoned = 0
        compared.clear()
        for op in op_database():
            name = full_name(op)
            if not fnmatch.fnmatch(name, options.op) or not applies(op, category):
                continue
            total += 1
            found = check(op, category, options.samples)
            if not found:
                passed += 1
                continue
            failures[f"{name} {category}"] = found
            if (name, category) in EXPECTED:
                reasoned += 1
                print(f"  expected: {name} {category}: {EXPECTED[name, category]}")
            else:
                unexpected += 1
                print(f"  FAIL {name} {category}: {found[0]}", flush=True)
        print(
            f"{category}: {passed} / {total} operators pass, {reasoned} expected failures, "
            f"{len(compared)} results compared",
            flush=True,
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(failures, file, indent=1, sort_keys=True)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
