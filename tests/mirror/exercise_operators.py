"""Operators that the mirror hands on as torch's own: called on the active backend's device, values compared.

The calls are samples of torch's operator database: of each operator the first in float32 that has a tensor in it. On
``mlx`` the reference is the same call on CPU tensors, on ``cpu`` NumPy's function where the database names one.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.catalog import catalog, mirrored

__all__ = ["exercise_operators"]

# Their values are drawn, or left as they were found.
_UNTOLD = (
    "rand",
    "normal",
    "empty",
    "bernoulli",
    "multinomial",
    "dropout",
    "exponential",
    "cauchy",
    "geometric",
    "uniform",
)
# Decompositions that are right up to signs or rotations: the database itself compares products of their parts.
_UP_TO_SIGNS = ("svd", "eig", "qr", "lobpcg", "pca")


def exercise_operators(backend: str) -> tuple[list[str], dict[str, str]]:
    """Names of the catalog that were executed with the right values, and what went wrong with others."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    wanted: dict[int, list[str]] = {}
    for name, member in catalog()["members"].items():
        if member["kind"] in ("function", "builtin") and member["mirror"] == "same":
            if member[backend]["route"] in ("same", "fallback") and not member["helper"]:
                found = _found(name)
                if found is not None:
                    wanted.setdefault(id(found), []).append(name)
    executed: set[str] = set()
    wrong: dict[str, str] = {}
    torch.set_num_threads(1)
    for entry in op_db:
        names = wanted.get(id(entry.op), [])
        if not names or names[0] in executed:
            continue
        try:
            problem = _called(entry, backend)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong.update(dict.fromkeys(names, problem))
        else:
            executed.update(names)
    return sorted(executed), {name: why for name, why in wrong.items() if name not in executed}


def _found(name: str) -> Any:
    """What the mirror has under ``name``; None where torch has not loaded the module."""
    home, _, leaf = name.rpartition(".")
    return (
        getattr(importlib.import_module(mirrored(home)), leaf, None)
        if home in sys.modules
        else None
    )


def _called(entry: Any, backend: str) -> str:
    """What is wrong with the operator's answer to one sample; empty where nothing is."""
    import torch
    from torch.utils._pytree import tree_flatten, tree_map_only

    dtype = (
        torch.float32
        if torch.float32 in entry.dtypes
        else next(iter(sorted(entry.dtypes, key=str)))
    )
    sample = next((s for s in entry.sample_inputs("cpu", dtype) if _full(s.input)), None)
    if sample is None:
        return "the database has no call of it with a tensor"
    call = (sample.input, *sample.args), sample.kwargs
    torch.manual_seed(0)
    answer = entry.op(*_moved(call, backend)[0], **_moved(call, backend)[1])
    untold = any(word in entry.name for word in _UNTOLD)
    if backend != "cpu":
        torch.manual_seed(0)
        expected = entry.op(*_moved(call, "cpu")[0], **_moved(call, "cpu")[1])
    elif getattr(entry, "ref", None) is not None and not untold:
        values = tree_map_only(torch.Tensor, lambda x: x.detach().numpy(), _moved(call, "cpu"))
        try:
            expected = tree_map_only(_array(), torch.as_tensor, entry.ref(*values[0], **values[1]))
        except Exception:
            return ""  # NumPy's function does not take this call; torch's did
    else:
        return ""
    mine = [x for x in tree_flatten(answer)[0] if isinstance(x, torch.Tensor)]
    theirs = [x for x in tree_flatten(expected)[0] if isinstance(x, torch.Tensor)]
    if len(mine) != len(theirs) or any(
        a.shape != b.shape for a, b in zip(mine, theirs, strict=False)
    ):
        return "" if backend == "cpu" else "returns other shapes than on the CPU"
    if untold or any(word in entry.name for word in _UP_TO_SIGNS):
        return ""
    for a, b in zip(mine, theirs, strict=True):
        a, b = a.detach().cpu().to_dense(), b.detach().to_dense()
        kind = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
        if not torch.allclose(a.to(kind), b.to(kind), rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"holds other values than the reference: {str(a.flatten()[:4])}, {str(b.flatten()[:4])}"
    return ""


def _full(values: Any) -> bool:
    """Whether there is a tensor with elements among ``values``."""
    import torch
    from torch.utils._pytree import tree_flatten

    return any(isinstance(x, torch.Tensor) and x.numel() for x in tree_flatten(values)[0])


def _array() -> Any:
    import numpy

    return (numpy.ndarray, numpy.generic)


def _moved(call: Any, device: str) -> Any:
    import torch
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, lambda x: x.detach().clone().to(device), call)
