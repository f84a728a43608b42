"""Refuse what MPS refuses, for ``TDEV_SIM_PROFILE=mps``: operators without a kernel, and dtypes that Metal lacks.

Which operators have a kernel says ``native_functions.yaml`` of the torch that is installed; it comes with the wheel, in
``torchgen``. It is the level of operators: a kernel may still refuse a dtype or a shape, and numbers are the CPU's.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators.sim import refusals
from tdev_core.errors import ConfigError, warn_once
from tdev_core.metrics import counters

__all__ = ["install", "kernels"]

_NO_FLOAT64 = "Cannot convert a MPS Tensor to {} dtype as the MPS framework doesn't support {}. Please use {} instead."
_ALWAYS_FALL_BACK = frozenset(
    {"embedding_renorm_", "_linalg_svd", "_linalg_svd.U", "col2im", "upsample_nearest3d.vec"}
)
"""Run by the CPU without being asked; source: ``TORCH_LIBRARY_IMPL(aten, MPS, m)`` in ATen/mps/MPSFallback.mm, which has
``linalg_svd`` itself; here it has been taken apart."""
_COMPOSITE = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
)  # the last with …NonFunctional
_LAYOUTS = {
    torch.strided: "MPS", torch.sparse_coo: "SparseMPS", torch.sparse_csr: "SparseCsrMPS", torch.sparse_csc: "SparseCsrMPS",
    torch.sparse_bsr: "SparseCsrMPS", torch.sparse_bsc: "SparseCsrMPS",
}  # fmt: skip
_FUNC = re.compile(r"^- func: ([\w.]+)\(")
_FIELD = re.compile(r"^  (\w+):\s*(.*?)\s*(?:#.*)?$")
_KERNEL = re.compile(r"^    ([\w, ]+):")


def install() -> None:
    """Refuse from now on what MPS does not do."""
    for wide, narrow in ((torch.float64, "float32"), (torch.complex128, "complex64")):
        name = str(wide).removeprefix("torch.")
        refusals.refuse_dtype(wide, _NO_FLOAT64.format(name, name, narrow))
    refusals.add(_check)


@functools.cache
def kernels() -> dict[str, frozenset[str]]:
    """Return the dispatch keys of each operator's kernels, ``{"add.out": {"MPS", …}}``, as torch was built with them.

    Raises:
        ConfigError: this torch came without its table.
    """
    found = importlib.util.find_spec("torchgen")
    folders = found.submodule_search_locations if found is not None else None
    for folder in folders or ():
        path = Path(folder, "packaged/ATen/native/native_functions.yaml")
        if path.is_file():
            return _parsed(path.read_text(encoding="utf-8"))
    raise ConfigError(
        "TDEV_SIM_PROFILE=mps asks torch's own table which operators have an MPS kernel, and this torch came without "
        "torchgen/packaged/ATen/native/native_functions.yaml. Install torch from a wheel, or unset the profile."
    )


def _parsed(text: str) -> dict[str, frozenset[str]]:
    own: dict[str, set[str]] = {}
    delegates: dict[str, str] = {}
    name, field, structured = "", "", False
    for line in [*text.splitlines(), "- func: ()"]:
        start = _FUNC.match(line)
        if start is not None or line == "- func: ()":
            if name and not own[name] and not structured and name not in delegates:
                own[name].add(
                    "CompositeImplicitAutograd"
                )  # the file's rule: no table is one composite kernel
            if start is not None:
                name, field, structured = start[1], "", False
                own[name] = set()
            continue
        told = _FIELD.match(line)
        if told is not None:
            field = told[1]
            structured = structured or field == "structured"
            if field == "structured_delegate":
                delegates[name] = told[2]
        elif field == "dispatch":
            keys = _KERNEL.match(line)
            if keys is not None:
                own[name].update(key.strip() for key in keys[1].split(","))
    return {
        key: frozenset(keys | own.get(delegates.get(key, ""), set())) for key, keys in own.items()
    }


@functools.cache
def _lacks(name: str, key: str) -> bool:
    """Tell whether ``name`` has no kernel for ``key``; what the table does not list (``autogen``) is made of what it does."""
    keys = kernels().get(name)
    return keys is not None and key not in keys and not any(k.startswith(_COMPOSITE) for k in keys)


def _check(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    full = op.name()
    if not full.startswith("aten::"):
        return
    name = full.removeprefix("aten::")
    layout = next((a.layout for a in args if isinstance(a, torch.Tensor)), torch.strided)
    if not _lacks(name, _LAYOUTS.get(layout, "MPS")):
        return
    if name in _ALWAYS_FALL_BACK or os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") != "0":
        counters.note_fallback(full)
        warn_once(
            f"The operator '{full}' is not currently supported on the MPS backend and will fall back to run on the CPU. "
            "This may have performance implications.",
            UserWarning,
            key=("mps", full),
        )
        return
    raise NotImplementedError(
        f"The operator '{full}' is not currently implemented for the MPS device. As a temporary fix, you can set the "
        "environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this will "
        "be slower than running natively on MPS. (TDEV_SIM_PROFILE asks for what MPS does; "
        f"torch {torch.__version__} lists its kernels.)"
    )
