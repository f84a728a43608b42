"""Operators that the mirror hands on as torch's own: called on the active backend's device, values compared.

The calls are samples of torch's operator database: of each operator the first in float32 that has a tensor in it. On
devices the reference is the same call on CPU tensors, on ``cpu`` NumPy's function where the database names one. Where there
is no reference, nothing is asserted, and the operator does not count: what the mirror hands out is torch's own.
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


def exercise_operators(backend: str) -> tuple[dict[str, str], dict[str, str]]:
    """What was asserted of names of the catalog, and what went wrong with others."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    wanted: dict[int, list[str]] = {}
    for name, member in catalog()["members"].items():
        if member["kind"] in ("function", "builtin") and member["mirror"] == "same":
            if member[backend]["route"] in ("same", "fallback") and not member["helper"]:
                found = _found(name)
                if found is not None:
                    wanted.setdefault(id(found), []).append(name)
    executed: dict[str, str] = {}
    wrong: dict[str, str] = {}
    torch.set_num_threads(1)
    for entry in op_db:
        names = wanted.get(id(entry.op), [])
        if not names or names[0] in executed:
            continue
        try:
            asserted, problem = _called(entry, backend)
        except Exception as error:
            asserted, problem = "", f"{type(error).__name__}: {error}"
        if problem:
            wrong.update(dict.fromkeys(names, problem))
        else:
            executed.update(dict.fromkeys(names, asserted))
    return executed, {name: why for name, why in wrong.items() if name not in executed}


def _found(name: str) -> Any:
    """What the mirror has under ``name``; None where torch has not loaded the module."""
    home, _, leaf = name.rpartition(".")
    return (
        getattr(importlib.import_module(mirrored(home)), leaf, None)
        if home in sys.modules
        else None
    )


def _called(entry: Any, backend: str) -> tuple[str, str]:
    """What was asserted of the operator's answer to one sample, and what was wrong, or nothing."""
    import torch
    from torch.utils._pytree import tree_map_only

    dtype = (
        torch.float32
        if torch.float32 in entry.dtypes
        else next(iter(sorted(entry.dtypes, key=str)))
    )
    sample = next((s for s in entry.sample_inputs("cpu", dtype) if _full(s.input)), None)
    if sample is None:
        return "", "the database has no call of it with a tensor"
    call = (sample.input, *sample.args), sample.kwargs

    def answer_on(device: str, seed: int = 0) -> Any:
        torch.manual_seed(seed)
        args, kwargs = _moved(call, device)
        return _leaves(entry.op(*args, **kwargs))

    mine = answer_on(backend)
    if any(word in entry.name for word in _UNTOLD):
        same = "empty" in entry.name or _close(mine, answer_on(backend))
        if [x.shape for x in mine] != [x.shape for x in answer_on("cpu")]:
            return "", "has other shapes than on the CPU"
        return "effect", "" if same else "draws other numbers from the same seed"
    if backend != "cpu":
        theirs = answer_on("cpu")
    elif getattr(entry, "ref", None) is not None:
        args, kwargs = tree_map_only(
            torch.Tensor, lambda x: x.detach().numpy(), _moved(call, "cpu")
        )
        try:
            expected = tree_map_only(_array(), torch.as_tensor, entry.ref(*args, **kwargs))
        except Exception:
            return "", "NumPy's function does not take this call"
        theirs = _leaves(expected)
    else:
        return "", "nothing is asserted of it: there is no reference"
    if not mine or [x.shape for x in mine] != [x.shape for x in theirs]:
        return "", "has other shapes than the reference"
    up_to_signs = any(word in entry.name for word in _UP_TO_SIGNS)
    if not _close(mine, theirs, up_to_signs):
        return "", f"holds other values than the reference: {mine}, {theirs}"[:400]
    return "value", ""


def _leaves(answer: Any) -> list[Any]:
    """The tensors of an answer, and its numbers as tensors."""
    import torch
    from torch.utils._pytree import tree_flatten

    leaves = (x for x in tree_flatten(answer)[0] if isinstance(x, (torch.Tensor, bool, int, float)))
    return [x if isinstance(x, torch.Tensor) else torch.tensor(x) for x in leaves]


def _close(mine: list[Any], theirs: list[Any], up_to_signs: bool = False) -> bool:
    """Whether the tensors hold the same values, up to what single precision tells apart."""
    import torch

    for a, b in zip(mine, theirs, strict=True):
        a, b = a.detach().cpu().to_dense(), b.detach().cpu().to_dense()
        kind = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
        a, b = a.to(kind), b.to(kind)
        if up_to_signs:
            a, b = a.abs(), b.abs()
        if not torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True):
            return False
    return True


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
