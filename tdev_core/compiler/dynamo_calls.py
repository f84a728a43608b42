"""Tells torch.compile of the callables that stand for C functions and methods of torch.

It cannot read those in C that stand before tdev's wrappers (see calls.py): a function is the wrapper behind
it to the compiler. A method that is called through its class, ``torch.Tensor.to(x, "cuda")``, is the method
of that name of its first argument, which the compiler knows.

Source: ``torch.compiler.substitute_in_graph``, for the wrappers; for those in C, which it refuses,
``VariableBuilder._type_dispatch_impl`` and ``SourcelessBuilder._type_handlers`` in
``torch/_dynamo/variables/builder.py``, private to torch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from tdev_core.shims import calls
from tdev_core.shims import install as shims

__all__ = ["teach"]


def teach() -> None:
    """Have the compiler put what it can read in the place of each of them.

    Raises:
        Exception: of any kind, where the installed torch has other tables.
    """
    from torch._dynamo.variables import builder as torchs

    builder: Any = torchs
    for kind in calls.kinds():
        for trace_numpy in (False, True):
            builder.VariableBuilder._type_dispatch_impl(trace_numpy)[kind] = _wrap
            if builder.VariableBuilder._type_dispatch_impl(trace_numpy).get(kind) is not _wrap:
                raise TypeError("VariableBuilder's table is made anew for each look at it")
        builder.SourcelessBuilder._type_handlers[kind] = _create
    for name, method in shims.replaced_descriptors(torch.Tensor):
        if isinstance(method, FunctionType):
            torch.compiler.substitute_in_graph(method, skip_signature_check=True)(_by_name(name))


def _wrap(self: Any, value: Any) -> Any:
    from torch._dynamo.guards import GuardBuilder

    self.install_guards(GuardBuilder.ID_MATCH)
    return _create(self.tx, value)


def _create(tx: Any, value: Any) -> Any:
    from torch._dynamo.variables.builder import SourcelessBuilder

    readable = value.__tdev_wrapper__
    if type(value) is calls.kinds()[1]:
        readable = _by_name(readable.__name__)
    return SourcelessBuilder.create(tx, readable)


@functools.cache
def _by_name(name: str) -> Callable[..., Any]:
    # The name stands in the code: the compiler guards the cells of a closure where it found the function.
    code = _call.__code__
    names = tuple(name if used == "method" else used for used in code.co_names)
    return FunctionType(code.replace(co_names=names), _call.__globals__, name)


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.method(*args, **kwargs)
