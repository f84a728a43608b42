"""Run torch's databases on ``sim`` and compare every value with the CPU's, bit for bit.

    PYTHONPATH=generated:. python tests/accelerators/sim/opdb.py [--op PATTERN] [--dtype NAME] [--samples N] [--json FILE]

Prints pass / total of the operator database for each category (forward, backward, inplace, out) and
dtype, then of ``module_db`` and ``optim_db`` (``tests/accelerators/sim/databases.py``), and the failures; exits with 1
if any is not in ``EXPECTED``.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from tests.accelerators.sim.bits import SEED, attempt, compare, compared, copy, to_sim

CATEGORIES = ("forward", "backward", "inplace", "out")
DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.bool,
    torch.complex64,
)

# (operator, category) -> why it is not compared, or not equal. Shown in the report.
_UNREPEATABLE = "LAPACK's gelsy does not repeat its own last bit on the CPU (workspace alignment)"
EXPECTED: dict[tuple[str, str], str] = {
    (name, category): _UNREPEATABLE
    for name in ("linalg.lstsq", "linalg.lstsq.grad_oriented")
    for category in CATEGORIES
}

UNDEFINED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split()
)
"""Operators whose values mean nothing: shape, strides and dtype are compared."""

CLOSE = frozenset(
    {
        "nn.functional.linear_cross_entropy.chunked",
        "nn.functional.linear_cross_entropy.chunked_none",
    }
)
"""Operators that torch writes in Python with another order of summation, in 16 bits, on the CPU only."""

ON_CPU = frozenset({"tensor_split"})
"""Operators whose tensor arguments (all but the first) must be on the CPU, on CUDA as here."""


def op_database() -> list[Any]:
    """torch's list of ``OpInfo``."""
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def full_name(op: Any) -> str:
    """Name and variant, as in ``linalg.norm.subgradients_at_zero``."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def _values(op: Any) -> bool | str:
    return "close" if full_name(op) in CLOSE else op.name not in UNDEFINED


def moved(op: Any, sample: Any) -> Any:
    """The arguments of ``sample``, copied and on ``sim``."""
    value, args, kwargs = copy((sample.input, sample.args, sample.kwargs))
    if op.name in ON_CPU:
        return to_sim(value), args, kwargs
    return to_sim((value, args, kwargs))


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
            _values(op),
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
            _values(op),
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
            leaves = tree_flatten(reference)[0]
            if not all(isinstance(x, torch.Tensor) for x in leaves):
                continue  # torch.equal: its entry says out=, its result is a bool
            if kind == "empty" and any(x.layout is not torch.strided for x in leaves):
                continue  # there is no compressed tensor of one dimension
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
                    _values(op),
                )
            failures += [found] if found else []
    return failures


CHECKS: dict[str, Callable[[Any, torch.dtype, int], list[str]]] = {
    "forward": forward,
    "backward": backward,
    "inplace": inplace,
    "out": out,
}


def applies(op: Any, category: str, dtype: torch.dtype) -> bool:
    """Whether the database has such a case, which is where the CPU can be compared with."""
    if not op.supports_dtype(dtype, "cpu"):
        return False
    if category == "backward":
        floating = dtype.is_floating_point or dtype.is_complex
        return bool(
            op.supports_autograd and floating and dtype in op.supported_backward_dtypes("cpu")
        )
    if category == "inplace":
        return op.inplace_variant is not None
    return category == "forward" or bool(op.supports_out)


def check(op: Any, category: str, dtype: torch.dtype, limit: int = 5) -> list[str]:
    """All failures of one operator in one category and dtype."""
    try:
        return CHECKS[category](op, dtype, limit)
    except Exception as error:  # the harness itself, or a sample that cannot be moved
        return [f"{dtype}: {type(error).__name__}: {str(error).splitlines()[0]}"]


class Report:
    """Counts and failures of everything that ran."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.failures: dict[str, list[str]] = {}
        self.reasons: dict[str, str] = {}
        self.unexpected = 0

    def add(self, row: str, column: str, name: str, found: list[str], reason: str | None) -> None:
        """One case: ``found`` is why it fails, ``reason`` why that was to be expected."""
        self.counts[row, column, "total"] += 1
        if not found:
            self.counts[row, column, "passed"] += 1
            return
        self.failures[f"{name} {row} {column}"] = found
        if reason is None:
            self.unexpected += 1
            print(f"  FAIL {name} {row} {column}: {found[0]}", flush=True)
        else:
            self.counts[row, column, "expected"] += 1
            self.reasons[f"{name} {row}"] = reason

    def print_rows(self) -> None:
        """passed / total (failures with a reason) for each row and column."""
        for row, column in dict.fromkeys((row, column) for row, column, _ in self.counts):
            passed, total, reasoned = (
                self.counts[row, column, kind] for kind in ("passed", "total", "expected")
            )
            print(f"{row:9} {column:16} {passed:4} / {total:4}  ({reasoned} with a reason)")
        for case, reason in sorted(self.reasons.items()):
            print(f"  {case}: {reason}")


def operators(report: Report, options: argparse.Namespace) -> None:
    """The operator database."""
    dtypes = [getattr(torch, name) for name in options.dtype or []] or DTYPES
    for category in options.category or CATEGORIES:
        for dtype in dtypes:
            for op in op_database():
                name = full_name(op)
                if fnmatch.fnmatch(name, options.op) and applies(op, category, dtype):
                    found = check(op, category, dtype, options.samples)
                    column = str(dtype).removeprefix("torch.")
                    report.add(category, column, name, found, EXPECTED.get((name, category)))


def main(argv: list[str] | None = None) -> int:
    """Print the report; 1 if something fails that is not expected to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--op", default="*", help="only operators matching this pattern")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--category", choices=CATEGORIES, action="append")
    parser.add_argument("--dtype", action="append", help="float32, …; all six by default")
    parser.add_argument("--json", help="write the failures to this file")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")

    import tdev_core.accelerators.sim

    tdev_core.accelerators.sim.activate()
    from tests.accelerators.sim import databases

    report = Report()
    operators(report, options)
    print(f"{len(compared)} results compared")
    if options.op == "*" and not options.dtype and not options.category:
        databases.report(report)
    report.print_rows()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report.failures, file, indent=1, sort_keys=True)
    return 1 if report.unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
