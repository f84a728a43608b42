"""The emitted list of shims beside torch: that what it names is there, and where each device is handed in."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
import torch

from tdev_core.shims.install import Shim
from tests.catalog import ROOT, catalog, joined


def _shims() -> tuple[Shim, ...]:
    """The list as the emitted file has it, for the installed torch; ``tdev`` need not be imported for it."""
    scope: dict[str, Any] = {}
    text = (ROOT / "generated" / "tdev" / "_shims.py").read_text(encoding="utf-8")
    exec(compile(text, "_shims.py", "exec", dont_inherit=True), scope)  # noqa: S102
    there = {f"{row['owner']}.{row['name']}" for row in catalog()["shims"]}
    dated = joined()["shims"].keys() - there  # what other torches have alone
    return tuple(shim for shim in scope["SHIMS"] if f"{shim.owner}.{shim.name}" not in dated)


SHIMS = _shims()
_BY_KEYWORD: dict[str, int | None] = {"device": None, "pin_memory": None}
BUILTINS: dict[str, dict[str, int | None]] = {
    **{f"new_{name}": _BY_KEYWORD for name in ("empty", "empty_strided", "full", "ones", "zeros")},
    "new": {"device": None},
    "new_tensor": {"device": 2, "pin_memory": 4},  # as the stub has it; C takes neither by position
    "is_pinned": {"device": 0},
}
"""Methods of tensors in C, of which Python does not know the parameters (``python_variable_methods.cpp``)."""


def owner(shim: Shim) -> Any:
    home, _, name = shim.owner.rpartition(".")
    return getattr(importlib.import_module(home), name)


def positions(shim: Shim) -> dict[str, int | None]:
    """Where torch takes each parameter of the method, ``self`` not counted; None by keyword only."""
    found = inspect.getattr_static(owner(shim), shim.name)
    original = inspect.unwrap(getattr(found, "__func__", found))
    parameters = list(inspect.signature(original).parameters.values())
    parameters = parameters[not isinstance(found, staticmethod) or shim.name == "__new__" :]
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return {
        one.name: place if one.kind in by_position else None for place, one in enumerate(parameters)
    }


@pytest.mark.parametrize("shim", SHIMS, ids=lambda shim: shim.dotted)
def test_a_shim_says_where_torch_takes_the_device(shim: Shim) -> None:
    assert hasattr(owner(shim), shim.name)
    assert bool(shim.devices) != bool(shim.factory), "translated by position, or by a function"
    if shim.factory:
        module, _, name = shim.factory.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
    else:
        there = positions(shim) if shim.owner != "torch.Tensor" else BUILTINS[shim.name]
        for name, place in shim.devices:
            assert name in there, (name, there)
            assert there[name] == place


def test_the_methods_that_move_are_there_by_every_name() -> None:
    """Whatever a program calls them: of tensors, modules, storages and packed sequences."""
    listed = {shim.dotted for shim in _shims()}
    for name in ("cuda", "xpu", "to", "type", "pin_memory", "is_pinned", "record_stream", "new"):
        assert f"torch.Tensor.{name}" in listed
    for name in ("cuda", "xpu", "to", "cpu", "to_empty"):
        assert f"torch.nn.modules.module.Module.{name}" in listed
    for name in ("empty", "empty_strided", "full", "ones", "tensor", "zeros"):
        assert f"torch.Tensor.new_{name}" in listed


def test_every_layer_that_takes_a_device_is_in_the_list() -> None:
    """By the constructors that torch has, not by the list."""
    listed = {shim.dotted for shim in _shims()}
    missing = []
    for name, layer in vars(torch.nn).items():
        if isinstance(layer, type) and issubclass(layer, torch.nn.Module):
            source = next(cls for cls in layer.__mro__ if "__init__" in vars(cls))
            made = inspect.unwrap(vars(source)["__init__"])
            if "device" in inspect.signature(made).parameters:
                if f"{source.__module__}.{source.__qualname__}.__init__" not in listed:
                    missing.append(name)
    assert not missing


def test_the_list_names_methods_that_are_there_each_once() -> None:
    assert [shim.dotted for shim in _shims() if not hasattr(owner(shim), shim.name)] == []
    names = [shim.dotted for shim in _shims()]
    assert len(names) == len(set(names))
