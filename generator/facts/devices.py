"""Say which parameters are devices, from their annotation, name and default alone."""

from __future__ import annotations

import re

from generator.facts.model import Member, Method, Parameter
from generator.facts.notation import split_top

# Aliases that stand for "a device in any spelling" in torch's annotations.
DEVICE_TYPES = (
    "torch.device",
    "torch.types.Device",
    "torch._prims_common.DeviceLikeType",
    "torch.serialization.MAP_LOCATION",
    "torch.distributed.rpc.options.DeviceType",
)
# Names that hold one device, or several, wherever torch uses them and says nothing else.
_PLAIN = frozenset({"device", "devices", "map_location"})
# Names that are usually devices; the annotation or the default has to agree.
_USUAL = frozenset(
    "device_id device_ids device_index device_type dst_device output_device peer_device "
    "pin_memory_device src_device target_device default_device torch_device from_device "
    "to_device remote_device".split()
)
_DEVICE_STRINGS = frozenset({"cuda", "cpu", "mps", "xpu", "mtia", "meta", "hpu", "privateuseone"})
# Unannotated parameters of that name are lists of devices or None throughout torch.
_LISTS = frozenset({"device_ids", "output_device"})
_OTHER = frozenset({"dl_device"})  # DLPack numbers its own device types
_CARRIERS = frozenset({"typing.Any", "object", "int", "str"})
_NEVER = frozenset({"bool", "torch.dtype", "float", "type", "None"})

_DEVICE = re.compile(
    rf"(?<![\w.])(?:{'|'.join(re.escape(name) for name in DEVICE_TYPES)})(?![\w.])"
)
_SEQUENCE = re.compile(r"(?:list|tuple|collections\.abc\.(?:Sequence|Iterable))\[(.*)\]")
_WORD = re.compile(r"(?:^|_)(?:devices?|cuda)(?:_|$)|map_location")


def is_device_parameter(member: Member | Method, parameter: Parameter) -> bool | None:
    """Tell whether a parameter is a device (a device type, an index, or several of them).

    ``True`` and ``False`` follow from what torch wrote; ``None`` means that the facts do not tell
    and that a curated decision is needed. ``member`` is what the parameter belongs to: methods of
    ``torch.device`` itself and of classes that describe devices take parts of a device.
    """
    name, annotation = parameter.name, parameter.annotation
    if parameter.kind in ("var_keyword", "var_positional"):
        return None if annotation and _DEVICE.search(annotation) else False
    if name in _OTHER:
        return False
    named = bool(_WORD.search(name))
    if annotation and _DEVICE.search(annotation):
        if all(_is_device(part) for part in split_top(annotation, " | ")):
            return True
        return True if named and "Callable[" not in annotation else None
    if not named:
        return False
    if not annotation:
        return _by_default(name, parameter.default)
    parts = split_top(annotation, " | ")
    if all(_is_never(part) for part in parts):
        return False
    if (name in _PLAIN or name in _USUAL) and any(_is_carrier(part) for part in parts):
        return True
    return None


def _by_default(name: str, default: str | None) -> bool | None:
    text = (default or "").strip("\"'")
    if text in ("True", "False"):
        return False
    if name in _PLAIN or name in _LISTS:
        return True
    return True if name in _USUAL and text.partition(":")[0] in _DEVICE_STRINGS else None


def _is_device(part: str) -> bool:
    """Return a device, a way to write one, or a sequence of such."""
    inner = _SEQUENCE.fullmatch(part)
    if inner:
        return all(_is_device(item) for item in split_top(inner[1].removesuffix(", ..."), " | "))
    return part in DEVICE_TYPES or part in ("None", "int", "str")


def _is_carrier(part: str) -> bool:
    return part in _CARRIERS or bool(
        _SEQUENCE.fullmatch(part) and re.search(r"\b(int|str)\b", part)
    )


def _is_never(part: str) -> bool:
    """Simple types and classes cannot be devices; an alias or a mapping may hold some."""
    last = part.rpartition(".")[2]
    if part in _CARRIERS:
        return False
    return part in _NEVER or ("[" not in part and "." in part and last[:1].isupper())
