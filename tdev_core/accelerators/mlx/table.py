"""The one operator table, for readers that have neither torch nor MLX."""

from __future__ import annotations

import importlib

from tdev_core.accelerators.mlx import ops
from tdev_core.accelerators.mlx.registry import OPERATORS

__all__ = ["FAMILIES", "WHOLE", "load", "operators"]

FAMILIES = (
    "pointwise", "arithmetic", "division", "extrema", "bits", "compare", "reduce", "moments", "norms", "softmax", "aliasing",
    "memory", "reseat", "matmul", "index", "masks", "shape", "create", "activation", "loss", "conv", "pool", "resample", "norm", "group_norm",
    "batch_norm", "sort", "random", "foreach", "optim", "recurrent", "fourier", "special",
)  # fmt: skip
"""The modules of ``tdev_core.accelerators.mlx.ops``; each holds the rows and kernels of one family."""


WHOLE = {
    "scaled_dot_product_attention.default": "mx.fast.scaled_dot_product_attention",
}
"""Operators that torch composes from others and that have a kernel here on the device's autograd key, by MLX's function.

A row of `OPERATORS` for such an operator is what compiled graphs use; eager code meets only its parts.
"""


def load() -> None:
    """Read all families; imports neither torch nor MLX."""
    for family in FAMILIES:
        importlib.import_module(f"{ops.__name__}.{family}")


def operators() -> dict[str, tuple[str, str, str]]:
    """Map aten overload to (route, MLX functions, note), sorted by overload.

    Keys are written ``add.Tensor`` or ``exp.default``.  Routes are ``mapped`` (one MLX function means the same),
    ``emulated`` (several do, or a kernel of ours) and ``whole`` (see `WHOLE`).  In-place and ``out=`` forms are derived from these rows and are
    not listed; an aten overload that is not here runs through the fallback, unless torch composes it from ones that are.
    """
    load()
    rows = {row.overload: (row.route, row.mlx, row.note) for row in OPERATORS.values()}
    rows |= {overload: ("whole", mlx, "") for overload, mlx in WHOLE.items()}
    return dict(sorted(rows.items()))
