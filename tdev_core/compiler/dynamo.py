"""Tells torch.compile what tdev's functions are; imports nothing of the compiler before the program does.

Four things can be said of a function that the compiler meets while it traces a program:

* *constant*: it is asked once, while the program is compiled. Its answer stays the same for the life of
  the process, but for what means the current device: :mod:`tdev_core.compiler.dynamo_devices`;
* *opaque*: it reads or changes the process (counters, clocks, locks, the C library), so the graph ends
  there, as it does at torch's own ``torch.cuda.memory_allocated``, and it is called for real;
* *effect*: it returns nothing and becomes an operator of the graph, :mod:`tdev_core.compiler.dynamo_effects`;
* *stream*: :mod:`tdev_core.compiler.dynamo_streams`.

Source: ``torch._dynamo.assume_constant_result``; ``torch._dynamo.disable``;
``torch._dynamo.eval_frame.skip_code``. All private to torch: see :mod:`tdev_core.internals`.
"""

from __future__ import annotations

import functools
import importlib
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on

__all__ = ["prepare"]

_CONSTANT = {
    "tdev_core.devices": ("is_accelerator", "translate", "translate_type"),
    "tdev_core.cuda.device_selection": ("can_access_peer", "device_count"),
    "tdev_core.cuda.properties": (
        "get",
        "is_bf16_supported",
        "name",
        "supported_dtypes",
    ),
    "tdev_core.accelerators.streams": ("default_stream",),
}

# As torch has its own: the compiler of 2.12 cannot compare a tuple that a function of the table above answers.
_FOLDED = {"tdev_core.cuda.properties": ("capability",)}

_OPAQUE: dict[str, tuple[str, ...]] = {
    # all functions and methods, where none is named
    "tdev_core.accelerators.cpu.heap": (),
    "tdev_core.accelerators.host": (),
    "tdev_core.accelerators.events": (),
    "tdev_core.cuda.memory.history": (),
    "tdev_core.cuda.memory.usage": (),
    "tdev_core.cuda.nvtx": (),
    "tdev_core.cuda.rng": (),
    "tdev_core.mirror.standins": ("_GeneratorMeta",),
    "tdev_core.accelerators.streams": ("ExternalStream", "Stream", "set_stream"),
    "tdev_core.metrics.watermark": (),
}

_COMPILER = "torch._dynamo"

_TAUGHT = {
    "calls": "torch.compile ends its graph at torch.zeros, x.cuda() and other calls that tdev answers in C",
    "effects": "torch.compile ends its graph at synchronize(), empty_cache() and resets of memory statistics",
    "streams": "torch.compile ends its graph at torch.cuda.current_stream() and torch.cuda.stream(…)",
    "devices": "What torch.compile has compiled for one device goes on for it where another is made current",
}
"""Modules ``dynamo_…``, each with what a program meets where the compiler cannot be taught it."""


@functools.cache  # a program may reload tdev
def prepare() -> None:
    """Have the compiler take tdev for what it is, once it is used."""
    when_imported({*_CONSTANT, *_FOLDED, *_OPAQUE}, _mark)
    when_imported({_COMPILER}, _teach)


def _teach(compiler: ModuleType) -> None:
    for part, without in _TAUGHT.items():
        with relying_on(f"{compiler.__name__} ({part})", without):
            importlib.import_module(f"{__package__}.dynamo_{part}").teach()


def _mark(module: ModuleType) -> None:
    for name in _CONSTANT.get(module.__name__, ()):
        getattr(module, name)._dynamo_marked_constant = True
    for name in _FOLDED.get(module.__name__, ()):
        when_imported({_COMPILER}, functools.partial(_fold, getattr(module, name)))
    named = _OPAQUE.get(module.__name__)
    if named is None:
        return
    for value in [getattr(module, name) for name in named] or list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(function, FunctionType):
                _end_graph_at(function, own=function.__globals__ is vars(module))


def _fold(function: Any, compiler: ModuleType) -> None:
    with relying_on(
        "torch._dynamo.variables.torch.constant_fold_functions",
        f"torch.compile cannot trace {function.__qualname__}",
    ):
        torchs: Any = importlib.import_module("torch._dynamo.variables.torch")
        torchs.constant_fold_functions[function] = None
        torch.compiler.allow_in_graph(function)


def _end_graph_at(function: Any, own: bool) -> None:
    """Have the graph end where ``function`` is called; it is called for real.

    ``own``: the code is the module's, not that of a decorator (``contextlib``) which others use too.
    """
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = "it reads or changes the process itself"
    if not own:
        return
    when_imported({_COMPILER}, functools.partial(_skip, function.__code__))


def _skip(code: CodeType, compiler: ModuleType) -> None:
    """Have the compiler look neither at frames of ``code`` nor at those of what it calls: they are not the program's."""
    with relying_on(
        "torch._C._dynamo.eval_frame", "torch.compile reads functions of tdev as the program's own"
    ):
        from torch._C._dynamo import eval_frame

        action = eval_frame._FrameAction.SKIP
        eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(action, action))
