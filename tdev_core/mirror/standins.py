"""Stand-ins for the C types of torch that take a device and cannot be patched.

``torch.device``, ``torch.Generator``, ``torch.Stream`` and ``torch.Event`` are immutable types. Their
stand-ins are called like them, return *their* instances, and count as them wherever Python asks:
``isinstance``, ``issubclass``, ``==`` and ``hash`` (``torch.library.infer_schema`` looks annotations up
in a dictionary). TorchScript is told of them where it keeps its own classes.
"""

from __future__ import annotations

from typing import Any

import torch

from tdev_core import torchscript
from tdev_core.accelerator import accelerator
from tdev_core.accelerators.queues import device_of_index, device_type_number
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index, translate

__all__ = ["Event", "Generator", "Stream", "device"]


class _StandIn(type):
    """Metaclass of a class that stands for ``real``, an immutable type of torch."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = subclass.real if isinstance(subclass, _StandIn) else subclass
        return issubclass(real, cls.real)

    def __eq__(cls, other: object) -> bool:
        return other is cls.real or other is cls

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __repr__(cls) -> str:
        return repr(cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)


def _device_call(*args: Any, **kwargs: Any) -> torch.device:
    if kwargs:
        args = _device_arguments(*args, **kwargs)
    if len(args) == 2:
        kind, index = args
        if index is None:
            return _made(translate(kind), args)
        if isinstance(kind, str) and isinstance(index, int) and ":" not in kind:
            return _made(translate(f"{kind}:{index}") if index >= 0 else None, args)
        return torch.device(kind, index)
    if len(args) == 1:
        return _made(translate(args[0]), args)
    return torch.device(*args)  # raises torch's own error


def _made(device: Any, args: tuple[Any, ...]) -> torch.device:
    return device if isinstance(device, torch.device) else torch.device(*args)


def _device_arguments(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Read ``device("cuda")``, ``device(device=…)``, ``device(type=…, index=…)`` as positional arguments."""
    if "device" in kwargs and not args and len(kwargs) == 1:
        return (kwargs["device"],)
    if set(kwargs) <= {"type", "index"} and len(args) + len(kwargs) <= 2:
        kind = args[0] if args else kwargs.get("type")
        if kind is not None:
            return (kind, kwargs.get("index"))
    torch.device(*args, **kwargs)  # raises torch's own error
    raise TypeError(f"unexpected arguments for device: {args} {kwargs}")


class _DeviceMeta(_StandIn):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _device_call(*args, **kwargs)


class device(metaclass=_DeviceMeta):
    """``torch.device`` with the specification translated; calling it gives a real ``torch.device``.

    Source: ``torch.device`` documentation.
    """

    real = torch.device


def _emulated(given: Any) -> Any:
    """Return the translated device if its streams and events are tdev's own; None if torch has them."""
    if current() in (Backend.CUDA, Backend.MPS):
        return None
    if given is None:
        return device_of_index(device_index(None))
    where = translate(given)
    asked = str(given).partition(":")[0]
    if not isinstance(where, torch.device) or asked in ("cpu", "meta"):
        return None
    return where


def _real(cls: _StandIn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make torch's own object on the translated device, the first argument."""
    if args:
        args = (translate(args[0]), *args[1:])
    if "device" in kwargs:
        kwargs["device"] = translate(kwargs["device"])
    return cls.real(*args, **kwargs)


class _StreamMeta(_StandIn):
    """torch's guard for devices that Python registers tells no streams apart; see ``streams``."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from tdev_core.accelerators.streams import Stream  # `import tdev` does without

        if "stream_id" in kwargs:
            if (
                current() in (Backend.SIM, Backend.MLX)
                and kwargs.get("device_type") == device_type_number()
            ):
                return Stream(**kwargs)
            return cls.real(*args, **kwargs)
        where = _emulated(args[0] if args else kwargs.get("device"))
        if where is not None and len(args) <= 1 and kwargs.keys() <= {"device", "priority"}:
            return Stream(where, kwargs.get("priority", 0))
        return _real(cls, args, kwargs)


_EVENT_OPTIONS = {"enable_timing", "blocking", "interprocess"}


class _EventMeta(_StandIn):
    """torch's guard for such devices has no events at all: recording one raises."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from tdev_core.accelerators.events import Event  # `import tdev` does without

        where = _emulated(args[0] if args else kwargs.get("device"))
        if where is not None and len(args) <= 1 and kwargs.keys() <= _EVENT_OPTIONS | {"device"}:
            made = Event(**{key: kwargs[key] for key in _EVENT_OPTIONS & kwargs.keys()})
            made._index = device_index(where)
            return made
        return _real(cls, args, kwargs)


class _GeneratorMeta(_StandIn):
    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Generator:
        if len(args) + len(kwargs) != 1 or not (args or "device" in kwargs):
            return cls.real(*args, **kwargs)  # type: ignore[no-any-return]  # the CPU's, or torch's own error
        where = translate(args[0] if args else kwargs["device"])
        if isinstance(where, torch.device) and where.type in ("sim", "mlx"):
            # torch cannot make generators for device types that Python registers.
            return accelerator().new_generator(device_index(where))
        return cls.real(where)  # type: ignore[no-any-return]


class Generator(metaclass=_GeneratorMeta):
    """``torch.Generator(device="cpu")`` on the translated device."""

    real = torch.Generator


class Stream(metaclass=_StreamMeta):
    """``torch.Stream(device=None, priority=0)`` on the translated device."""

    real = torch.Stream


class Event(metaclass=_EventMeta):
    """``torch.Event(device=None, *, enable_timing=False, blocking=False, interprocess=False)``."""

    real = torch.Event


def teach_torchscript() -> None:
    """Let TorchScript read the stand-ins, in annotations and calls, as what they stand for."""
    torchscript.know_functions({device: "aten::device"})
    torchscript.know_classes(
        {device: "DeviceObjType", Generator: "_GeneratorType", Stream: "StreamObjType"}
    )


def allow_in_files() -> None:
    """Have ``torch.load(…, weights_only=True)`` accept ``tdev.device``, as it accepts ``torch.device``.

    A file names the class, which translates where it is read. The other stand-ins are refused, as what they stand for is.
    """
    # By its name: a set of classes would take the stand-in for torch's, to which it is equal.
    torch.serialization.add_safe_globals([(device, f"{device.__module__}.{device.__qualname__}")])
