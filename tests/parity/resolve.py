"""Find, for what a database of torch names, the same thing under ``tdev``."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tdev
import torch
from torch.overrides import resolve_name

__all__ = ["through_mirror", "walk"]

_MISSING = object()


def walk(root: Any, dotted: str) -> Any:
    """The object at ``dotted`` below ``root``, or ``_MISSING``."""
    value = root
    for part in dotted.split("."):
        value = getattr(value, part, _MISSING)
        if value is _MISSING:
            return _MISSING
    return value


@lru_cache(maxsize=1)
def _paths() -> dict[int, str]:
    """Where torch's own index of overridable functions has each of them."""
    found: dict[int, str] = {}
    for namespace, functions in torch.overrides.get_overridable_functions().items():
        for function in functions:
            name = resolve_name(function)
            if name and namespace is not torch.Tensor:
                found.setdefault(id(function), name)
    return found


def through_mirror(function: Callable[..., Any], name: str) -> tuple[Callable[..., Any], str]:
    """What a program that imports tdev under the name of torch calls in place of ``function``.

    Returns:
        The callable, and how it was found: the dotted tdev name; ``source`` where the database wrote
        a function of its own around torch, which is run again with ``torch`` meaning tdev; or
        ``object`` where it names no function but an object (an ``_ops`` overload, a C method).
    """
    for dotted in (name, _paths().get(id(function), "").removeprefix("torch.")):
        if dotted and walk(torch, dotted) is function:
            return walk(tdev, dotted), f"tdev.{dotted}"
    home = getattr(function, "__module__", None) or ""
    leaf = getattr(function, "__name__", "")
    if home.split(".")[0] == "torch" and not home.startswith("torch.testing"):
        module = sys.modules.get(home)
        if module is not None and getattr(module, leaf, None) is function:
            mirror = importlib.import_module("tdev" + home[len("torch") :])
            return getattr(mirror, leaf), f"{mirror.__name__}.{leaf}"
    if isinstance(function, types.FunctionType) and home.startswith("torch.testing"):
        return _again(function), "source"
    return function, "object"


def _again(function: types.FunctionType) -> Callable[..., Any]:
    """The same function with ``torch`` and what it took from torch read through tdev."""
    namespace: dict[str, Any] = dict(function.__globals__)
    for key, value in list(namespace.items()):
        if value is torch:
            namespace[key] = tdev
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("torch."):
            namespace[key] = importlib.import_module("tdev" + value.__name__[len("torch") :])
    again = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    again.__kwdefaults__ = function.__kwdefaults__
    return again
