"""Tell TorchScript's compiler what functions and classes of tdev stand for.

TorchScript keeps tables of the functions and classes that it knows, all private to torch: ``torch.jit._builtins`` and
``torch.jit._state``. No other module of tdev knows them. Where they are other ones, scripts that name tdev's functions
and classes do not compile, and everything else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tdev_core.internals import relying_on

__all__ = ["compiled_class", "compiled_functions", "know_classes", "know_functions"]


def know_functions(operators: Mapping[Any, str]) -> None:
    """Have scripts call an operator of torch's (``"aten::zeros"``) where they name a function; by identity."""
    with relying_on(
        "torch.jit._builtins", "torch.jit.script does not compile functions of tdev in a script"
    ):
        from torch.jit._builtins import _register_builtin

        for function, operator in operators.items():
            _register_builtin(function, operator)


def know_classes(types: Mapping[Any, str]) -> None:
    """Have annotations in scripts read a class as a type of ``torch._C``, given by its name there."""
    with relying_on(
        "torch.jit._state", "torch.jit.script does not know tdev.device and its kin in a script"
    ):
        from torch.jit import _state

        classes: dict[Any, Any] = _state._script_classes
        for kind, name in types.items():
            classes[kind] = getattr(torch._C, name).get()


def compiled_functions() -> list[Any]:
    """List the functions that TorchScript has compiled in this process so far."""
    functions: list[Any] = []
    with relying_on(
        "torch.jit._state._python_cu",
        "Devices that a scripted function's helpers name are not translated",
    ):
        from torch.jit import _state

        unit: Any = _state._python_cu
        functions = list(unit.get_functions())
    return functions


def compiled_class(kind: type) -> str | None:
    """Return the qualified name of a scripted class; None where it is not one."""
    known: Any = None
    with relying_on(
        "torch.jit._state._get_script_class",
        "Devices that the methods of a scripted class name are not translated",
    ):
        from torch.jit import _state

        known = _state._get_script_class(kind)
    return None if known is None else str(known.qualified_name())
