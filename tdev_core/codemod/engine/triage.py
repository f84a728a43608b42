"""A second, cheaper look at files that do not mention CUDA at all.

Such a file matters only if a device that comes from elsewhere reaches a function of torch
(``torch.zeros(n, device=device)``), or if it loads a checkpoint. The standard library's own
parser answers that in a twentieth of the time that a concrete syntax tree takes. It may only
say no where the rules would find nothing; whatever it cannot parse goes on to them.
"""

from __future__ import annotations

import ast
import re
import warnings

_WORDS = re.compile(
    r"cuda|CUDA|nccl|NCCL|cupy|triton|pynvml|apex|GradScaler|autocast|custom_[fb]wd|fork_rng"
    r"|init_process_group|get_backend|init_device_mesh|default_tensor_type|tdev"
)
_DEVICE = re.compile(r"device|load\b|load_state_dict_from_url")
_LOADS = frozenset({"load", "load_state_dict_from_url"})


def worth_a_look(source: str) -> bool:
    """Whether the rules could change or report anything in this file."""
    if _WORDS.search(source):
        return True
    if "torch" not in source or not _DEVICE.search(source):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.lstrip("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(_matters(node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _matters(call: ast.Call) -> bool:
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name in _LOADS or name in ("device", "set_default_device", "partial"):
        return True
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in ("device", "device_type", "map_location"):
            if not _harmless(keyword.value):
                return True
    # `map(torch.device, names)`: a reference that is handed on
    return any(
        isinstance(a, ast.Attribute)
        and a.attr == "device"
        and isinstance(a.value, ast.Name)
        and a.value.id in ("torch", "th")
        for a in call.args
    )


def _harmless(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return not isinstance(value.value, int) or isinstance(value.value, bool)
    if isinstance(value, ast.Attribute) and value.attr == "device":
        base = value.value
        # `args.device` and `self.device` may be what a person typed
        return not isinstance(base, ast.Name) or base.id in ("x", "input", "inputs")
    return False
