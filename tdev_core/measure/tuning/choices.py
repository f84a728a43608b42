"""Lists the settings that there are to try, which values of each this device and this program have, and puts them on.

A setting of a *step* can be changed between two steps of a program that runs; one of a *process* is chosen where it
starts. The values are in the order of preference among those that are equally fast.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from tdev_core.backend import Backend, current
from tdev_core.compiler.compile import cpp_compiler, default_backend
from tdev_core.errors import ConfigError
from tdev_core.measure.tuning.subject import Subject
from tdev_core.measure.tuning.variables import VARIABLES
from tdev_core.measure.ways import Answer, in_autocast
from tdev_core.measure.wrapping import wrap

__all__ = ["CHOICES", "Choice", "check", "loading", "offered", "put", "quota"]

Undo = Callable[[], None]


@dataclass(frozen=True)
class Choice:
    """A setting.

    Attributes:
        name: its name.
        says: what it is, in a line.
        values: gives the values that this device and this program have, besides the program's own way.
        put: sets a value between two steps, and returns what undoes it; None: it is a setting of the process.
        coarse: how much it may change the numbers, to be given up first where the loss suffers; 0: rounding at most.
        shows: whether all that it changes shows in a step's :class:`.fingerprint.Fingerprint`.
    """

    name: str
    says: str
    values: Callable[[Subject], tuple[str, ...]]
    put: Callable[[Subject, str], Undo] | None = None
    coarse: int = 0
    shows: bool = False


def quota() -> int:
    """Return how many processors this process may use: those that it may run on, within its container's share."""
    count = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    with contextlib.suppress(OSError, ValueError):
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            share, period = file.read().split()
        count = min(count, math.ceil(int(share) / int(period)))
    with contextlib.suppress(OSError, ValueError):  # of the older hierarchy
        with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", encoding="ascii") as file:
            share = file.read()
        with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us", encoding="ascii") as file:
            period = file.read()
        if int(share) > 0:
            count = min(count, math.ceil(int(share) / int(period)))
    return max(1, count)


# -- the optimizer -----------------------------------------------------------------------------------

_WAYS = {
    "fused": {"fused": True, "foreach": False},
    "foreach": {"fused": False, "foreach": True},
    "for-loop": {"fused": False, "foreach": False},
}


def _optimizers(subject: Subject) -> tuple[str, ...]:
    kinds = {type(one) for one in subject.optimizers}
    groups = [group for one in subject.optimizers for group in one.param_groups]
    # "If unspecified by the user, we will try to use foreach over the for-loop implementation on CUDA": torch.optim.
    usual = {"cpu": "for-loop", "cuda": "foreach"}.get(subject.device)
    if any(group.get("fused") or group.get("foreach") is not None for group in groups):
        usual = None
    return tuple(
        way
        for way in _WAYS
        if way != usual and kinds and all(_runs(kind, subject, way) for kind in kinds)
    )


def _runs(kind: Any, subject: Subject, way: str) -> bool:
    """Tell whether optimizers of a class take steps this way on the program's device."""
    weight = torch.zeros(2, device=subject.device, requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    try:
        if not kind.__module__.startswith("torch.optim"):
            return False
        one = kind([weight], lr=1e-3, **_WAYS[way])
        one.step()
    except (TypeError, RuntimeError, ValueError, NotImplementedError):
        return False
    return True


def _put_optimizer(subject: Subject, value: str) -> Undo:
    groups = [group for one in subject.optimizers for group in one.param_groups]
    before = [{name: group.get(name) for name in ("fused", "foreach")} for group in groups]

    def undo() -> None:
        for group, was in zip(groups, before, strict=True):
            group.update(was)
        _move_counts(subject)

    for group in groups:
        group.update(_WAYS[value])
    _move_counts(subject)
    return undo


def _move_counts(subject: Subject) -> None:
    """Have the counts of steps lie where the way to step wants them: beside the parameter if it is fused, else on the host."""
    for optimizer in subject.optimizers:
        for group in optimizer.param_groups:
            beside = group.get("fused") or group.get("capturable")
            for one in group["params"]:
                state = optimizer.state.get(one, {})
                count = state.get("step")
                if isinstance(count, torch.Tensor):
                    state["step"] = count.to(one.device if beside else "cpu")


# -- the models --------------------------------------------------------------------------------------


def _has(subject: Subject, *words: str) -> bool:
    return any(word in name for name in subject.gradients for word in words)


def _single(subject: Subject) -> bool:
    """Tell whether the program computes in float32 by itself."""
    return not subject.autocasts and all(one.dtype == torch.float32 for one in subject.parameters())


@contextlib.contextmanager
def _around(subject: Subject, call: Answer) -> Iterator[None]:
    """Have ``call(plain, model, args, kwargs)`` answer calls of the models; of their classes only they.

    The class has it, not the model: copies of a model, its pickle and its ``state_dict`` stay what they are.
    """
    own = {id(model) for model in subject.models}
    undo: list[Undo] = []
    for kind in {type(model) for model in subject.models}:
        inherited = "forward" not in vars(kind)
        plain: Any = kind.forward

        def forward(this: Any, *args: Any, _plain: Any = plain, **kwargs: Any) -> Any:
            if id(this) in own:
                return call(_plain, this, args, kwargs)
            return _plain(this, *args, **kwargs)

        vars(forward)["__wrapped__"] = plain  # where `inspect.signature` looks
        kind.forward = forward
        undo.append(
            partial(delattr, kind, "forward")
            if inherited
            else partial(setattr, kind, "forward", plain)
        )
    try:
        yield
    finally:
        for one in undo:
            one()


def _entered(block: Any) -> Undo:
    stack = contextlib.ExitStack()
    stack.enter_context(block)
    return stack.close


def _autocasts(subject: Subject) -> tuple[str, ...]:
    if not _single(subject) or not subject.models:
        return ()
    return ("bfloat16", "float16") if subject.scales else ("bfloat16",)


def _put_autocast(subject: Subject, value: str) -> Undo:
    return _entered(_around(subject, in_autocast(getattr(torch, value))))


def _compilers(subject: Subject) -> tuple[str, ...]:
    match current():
        case Backend.CUDA:
            return ("inductor", "inductor:reduce-overhead")
        case Backend.MPS:
            return ("inductor",)
        case Backend.CPU:
            return ("inductor",) if cpp_compiler() else ()
        case Backend.MLX:
            return ("mlx",)
        case Backend.SIM:
            return ()


def _put_compile(subject: Subject, value: str) -> Undo:
    name, _, mode = value.partition(":")
    options: Any = {"mode": mode} if mode else {}

    def call(plain: Any, model: nn.Module, args: Any, kwargs: Any) -> Any:
        key = id(model), value
        if key not in subject.compiled:
            subject.compiled[key] = torch.compile(plain, backend=default_backend(name), **options)
        return subject.compiled[key](model, *args, **kwargs)

    return _entered(_around(subject, call))


def _formats(subject: Subject) -> tuple[str, ...]:
    images = any(one.dim() == 4 for one in subject.parameters())
    return ("channels_last",) if images and _has(subject, "Convolution") else ()


def _put_format(subject: Subject, value: str) -> Undo:
    models: list[Any] = list(subject.models)  # torch's overloads of `to` lack this one
    for model in models:
        model.to(memory_format=getattr(torch, value))

    def undo() -> None:
        for model in models:
            model.to(memory_format=torch.contiguous_format)

    return undo


# -- flags of the process that a step reads ----------------------------------------------------------


def _precisions(subject: Subject) -> tuple[str, ...]:
    multiplies = _has(subject, "mm", "Addmm", "Mm", "Convolution")
    here = current() in (Backend.CPU, Backend.CUDA)
    return ("high", "medium") if here and multiplies and _single(subject) else ()


def _put_precision(subject: Subject, value: str) -> Undo:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(value)
    return lambda: torch.set_float32_matmul_precision(before)


_KERNELS = {
    "flash": "flash",
    "efficient": "mem_efficient",
    "cudnn": "cudnn",
    "math": "math",
}


def _kernels(subject: Subject) -> tuple[str, ...]:
    if not _has(subject, "ScaledDotProduct"):
        return ()
    return tuple(_KERNELS) if current() is Backend.CUDA else ("math",)


def _put_kernel(subject: Subject, value: str) -> Undo:
    flags = torch.backends.cuda
    before = {name: getattr(flags, f"{name}_sdp_enabled")() for name in _KERNELS.values()}

    def choose(wanted: Mapping[str, bool]) -> None:
        for name, on in wanted.items():
            getattr(flags, f"enable_{name}_sdp")(on)

    choose({name: kernel == value for kernel, name in _KERNELS.items()})
    return lambda: choose(before)


def _threads(subject: Subject) -> tuple[str, ...]:
    if current() not in (Backend.CPU, Backend.SIM):
        return ()
    most, now = quota(), torch.get_num_threads()
    counts = {most, *(2**power for power in range(most.bit_length()) if 2**power <= most)}
    return tuple(str(count) for count in sorted(counts - {now}, reverse=True))


def _put_threads(subject: Subject, value: str) -> Undo:
    before = torch.get_num_threads()
    torch.set_num_threads(int(value))
    return lambda: torch.set_num_threads(before)


def _emptied(subject: Subject) -> tuple[str, ...]:
    return () if subject.empties is None else ("false",) if subject.empties else ("true",)


def _put_emptied(subject: Subject, value: str) -> Undo:
    subject.emptying = value == "true"

    def undo() -> None:
        subject.emptying = None

    return undo


def _late(subject: Subject) -> tuple[str, ...]:
    return ("true",) if current() in (Backend.CUDA, Backend.MPS) else ()


def _put_late(subject: Subject, value: str) -> Undo:
    def to(plain: Any, this: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        where = args[0] if args else kwargs.get("device")
        # Only towards the device: what comes from it is read by the host at once.
        away = isinstance(where, (str, torch.device)) and torch.device(where).type != "cpu"
        if away and this.device.type == "cpu" and len(args) < 3:
            kwargs.setdefault("non_blocking", True)
        return plain(this, *args, **kwargs)

    return wrap(torch.Tensor, "to", to)


# -- settings of the process -------------------------------------------------------------------------


def _workers(subject: Subject) -> tuple[str, ...]:
    if not subject.loads:
        return ()
    now = subject.loads[0][0]
    return tuple(str(count) for count in sorted({0, 1, 2, min(8, quota())} - {now}))


def _pinned(subject: Subject) -> tuple[str, ...]:
    if not subject.loads or current() not in (Backend.CUDA, Backend.MPS):
        return ()
    return ("false",) if subject.loads[0][1] else ("true",)


def _native(subject: Subject) -> tuple[str, ...]:
    if current() is not Backend.MLX:
        return ()
    return ("off",) if _mlx_native().answered() else ()


def _put_native(subject: Subject, value: str) -> Undo:
    return _entered(_mlx_native().using(value != "off"))


def _mlx_native() -> Any:
    # By its name: through `tdev.tune` a type checker would read all of mlx, and what that imports of torch.
    return importlib.import_module("tdev_core.accelerators.mlx.native")


def _metal(subject: Subject) -> tuple[str, ...]:
    return ("on",) if current() is Backend.MPS else ()


CHOICES: dict[str, Choice] = {
    one.name: one
    for one in (
        Choice("optimizer", "how the optimizer goes through its parameters", _optimizers, _put_optimizer, shows=True),
        Choice("channels_last", "memory format of the models' weights", _formats, _put_format, shows=True),
        Choice("set_to_none", "what zero_grad leaves in place of gradients", _emptied, _put_emptied, shows=True),
        Choice("threads", "torch's threads within one operator", _threads, _put_threads),
        Choice("non_blocking", "copies to the device that the host does not wait for", _late, _put_late, shows=True),
        Choice("native_kernels", "the kernels of device mlx in C++", _native, _put_native),
        Choice("attention", "kernel of scaled_dot_product_attention", _kernels, _put_kernel, coarse=1, shows=True),
        Choice("compile", "torch.compile of the models, by this backend", _compilers, _put_compile, coarse=1),
        Choice("matmul_precision", "torch.set_float32_matmul_precision", _precisions, _put_precision, coarse=2, shows=True),
        Choice("autocast", "autocast around the models", _autocasts, _put_autocast, coarse=3, shows=True),
        Choice("workers", "worker processes of each DataLoader", _workers),
        Choice("pin_memory", "pinned batches of each DataLoader", _pinned),
        Choice(
            "mps_fast_math", "fast mathematics in Metal's kernels", _metal,
            coarse=2,
        ),
        Choice(
            "mps_prefer_metal", "Metal's kernels instead of MPS Graph's for matrix products", _metal,
        ),
        Choice(
            "mps_no_watermark", "no limit to what MPS allocates", _metal,
        ),
    )
}  # fmt: skip
"""Every setting, by its name."""

_FREE = {"threads", "workers"}
"""Settings whose values are numbers."""
_VALUES = {
    "optimizer": set(_WAYS),
    "channels_last": {"channels_last"},
    "set_to_none": {"true", "false"},
    "non_blocking": {"true"},
    "native_kernels": {"off"},
    "attention": set(_KERNELS),
    "compile": {"inductor", "inductor:reduce-overhead", "mlx"},
    "matmul_precision": {"high", "medium"},
    "autocast": {"bfloat16", "float16"},
    "pin_memory": {"true", "false"},
}


def check(name: str, value: str) -> None:
    """See that a setting has such a value.

    Raises:
        ConfigError: there is no such setting, or it has no such value.
    """
    if name not in CHOICES:
        raise ConfigError(f"no setting is called {name!r}; there are {', '.join(CHOICES)}")
    known = _VALUES.get(name, set(VARIABLES.get(name, ())))
    if not (value.isdecimal() if name in _FREE else value in known):
        what = "a number" if name in _FREE else " or ".join(sorted(known))
        raise ConfigError(f"{name} = {value!r} means nothing: {what}")


def offered(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Return what there is to try for a program, in the order of :data:`CHOICES`."""
    found = {name: choice.values(subject) for name, choice in CHOICES.items()}
    return {name: values for name, values in found.items() if values}


_OUTERMOST = ("compile", "autocast")
"""Wrappers of a model's call, the inner one first: a region of autocast is around what is compiled."""


def put(subject: Subject, wanted: Mapping[str, str]) -> None:
    """Have a program's next step be taken with these settings of a step, and with its own way for all others."""
    now = {key.partition("=")[0]: key.partition("=")[2] for key in subject.put}
    if any(now.get(name) != wanted.get(name) for name in _OUTERMOST):
        stale = {name for name in now if name in _OUTERMOST or now[name] != wanted.get(name)}
    else:
        stale = {name for name in now if now[name] != wanted.get(name)}
    for key in reversed(list(subject.put)):
        if key.partition("=")[0] in stale:
            subject.put.pop(key)()
    inner_first = sorted(
        wanted, key=lambda name: _OUTERMOST.index(name) if name in _OUTERMOST else -1
    )
    for name in inner_first:
        choice = CHOICES[name]
        if choice.put is not None and f"{name}={wanted[name]}" not in subject.put:
            subject.put[f"{name}={wanted[name]}"] = choice.put(subject, wanted[name])


def loading(wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return the keyword arguments that settings of a process give to loaders."""
    found: dict[str, Any] = {}
    if "workers" in wanted:
        found["num_workers"] = int(wanted["workers"])
    if "pin_memory" in wanted:
        found["pin_memory"] = wanted["pin_memory"] == "true"
    return found
