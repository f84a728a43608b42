"""The operator table: one row per aten overload, written next to the kernel it names.

Invariants: an overload has at most one row; a row of route ``mapped`` or ``emulated`` has a kernel that
takes ``mx.array`` where the aten schema says Tensor and gives ``mx.array`` back.  In-place and ``out=``
forms have no rows: they are derived from the functional one (:mod:`tdev_core.accelerators.mlx.dispatch.derive`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Decline", "OPERATORS", "Row", "op", "same"]

Kernel = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


class Decline(Exception):
    """Raised by a kernel for arguments that MLX cannot answer; the call then runs on the CPU, counted."""


@dataclass(frozen=True)
class Row:
    """The answer of one aten overload."""

    overload: str
    route: str
    mlx: str
    note: str
    kernel: Kernel
    eager: bool = True
    """False for view operators: the eager device makes views of the storage, only compiled graphs call the kernel."""
    raw: bool = False
    """True when the kernel takes and gives torch tensors (it writes to storages, or makes views)."""
    compiled: bool = True
    """False when a compiled graph must not contain the operator (it draws random numbers or reads values)."""
    float32: str | Kernel | None = None
    """The function that answers when every operand is a float32 array or a Python number: a function of ``mlx.core`` by its name, or one
    over arrays, which raises where it does not fit. Its result is float32. The eager device then calls nothing else."""


OPERATORS: dict[str, Row] = {}


def op(
    *overloads: str,
    mlx: str = "",
    note: str = "",
    route: str | None = None,
    eager: bool = True,
    raw: bool = False,
    compiled: bool = True,
    float32: str | Kernel | None = None,
) -> Callable[[F], F]:
    """Register a kernel for `overloads` (``name`` means ``name.default``).

    `mlx` names the MLX functions that do the work; the route is ``mapped`` when that is one function and
    nothing else is said, ``emulated`` otherwise.  The other arguments are those of `Row`.
    """

    def register(kernel: F) -> F:
        for overload in overloads:
            full = overload if "." in overload else overload + ".default"
            if full in OPERATORS:
                raise ValueError(f"operator table: {full} has two rows")
            answered = route or (
                "mapped" if mlx.startswith("mx.") and "," not in mlx else "emulated"
            )
            OPERATORS[full] = Row(
                full, answered, mlx, note, kernel, eager, raw, compiled and not raw, float32
            )
        return kernel

    return register


def same(existing: str, *overloads: str) -> None:
    """Give further overloads the kernel of `existing`."""
    row = OPERATORS[existing if "." in existing else existing + ".default"]
    op(
        *overloads,
        mlx=row.mlx,
        note=row.note,
        route=row.route,
        eager=row.eager,
        raw=row.raw,
        compiled=row.compiled,
        float32=row.float32,
    )(row.kernel)
