"""Find every method and constructor through which a device can come in."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Iterable

from generator.facts.devices import is_device_parameter
from generator.facts.functions import Function
from generator.facts.members import Found
from generator.facts.model import Method, MethodKind, Signature, Source
from generator.facts.native import Builtins
from generator.facts.signatures import Reader, is_torch, unwrap

# These say with their name where something goes; torch often declares them with *args only.
MOVES = frozenset({"cpu", "cuda", "hpu", "ipu", "mps", "mtia", "to", "xpu"})
_DEVICE = re.compile("device|cuda|map_location")
_C_METHODS = (
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
)


def _is_call(name: str) -> bool:
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def device_methods(
    members: Iterable[Found], reader: Reader, builtins: Builtins
) -> tuple[Method, ...]:
    """Return every method that a torch class in the MRO of a public class defines in its own body."""
    reached: dict[type, list[Found]] = {}
    for found in members:
        if found.kind != "class" or found.helper or not isinstance(found.value, type):
            continue
        for base in found.value.__mro__:
            # torch.cuda.FloatTensor and its kind copy Tensor's methods and have no instances.
            if is_torch(base) and type(base).__name__ != "tensortype":
                reached.setdefault(base, []).append(found)
    methods: dict[tuple[str, str], Method] = {}
    for cls in sorted(reached, key=_path):
        own = dict(vars(cls))
        for name in sorted(own):
            if not _is_call(name):
                continue
            method = _method(cls, name, own[name], reader, builtins)
            if method is None:
                continue
            # A class that overrides the method gets it from itself.
            classes = sorted(
                found.name for found in reached[cls] if _definer(found.value, name) is cls
            )
            if classes:
                methods[method.owner, name] = Method(
                    method.owner,
                    name,
                    method.kind,
                    method.signatures,
                    method.source,
                    tuple(classes),
                    method.devices,
                    method.undecided,
                )
    return tuple(methods[key] for key in sorted(methods))


def _definer(cls: object, name: str) -> type | None:
    mro = cls.__mro__ if isinstance(cls, type) else ()
    return next((base for base in mro if name in vars(base)), None)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _method(
    cls: type, name: str, value: object, reader: Reader, builtins: Builtins
) -> Method | None:
    kind: MethodKind = "method"
    if name in ("__init__", "__new__"):
        kind = "constructor"
    elif isinstance(value, staticmethod):
        kind = "staticmethod"
    elif isinstance(value, (classmethod, types.ClassMethodDescriptorType)):
        kind = "classmethod"
    source: Source = "live"
    signatures: tuple[Signature, ...] = ()
    function = _function(value)
    if function is not None:
        node = reader.node(function)
        if node is not None and name not in MOVES and not _mentions(node[1]):
            return None
        signatures = reader.function(value, bound=kind != "staticmethod")
        if node is None and kind == "constructor":
            made = reader.constructor(cls)
            signatures = made if isinstance(made, tuple) else ()
    elif isinstance(value, _C_METHODS) or type(value).__name__ == "instancemethod":
        found = builtins.constructor(cls) if kind == "constructor" else builtins.method(cls, name)
        signatures, source = found, "stub"
    if not signatures and name not in MOVES:
        return None
    if function is None and not isinstance(value, (*_C_METHODS, staticmethod, classmethod)):
        return None
    draft = Method(_path(cls), name, kind, signatures, source if signatures else "none", ())
    devices: dict[str, bool | None] = {}
    for signature in signatures:
        for parameter in signature.parameters:
            answer = is_device_parameter(draft, parameter)
            if answer is not False:
                # One overload that is sure decides for the others.
                devices[parameter.name] = devices.get(parameter.name) or answer
    if not devices and name not in MOVES:
        return None
    return Method(
        draft.owner,
        name,
        kind,
        signatures,
        draft.source,
        (),
        tuple(sorted(item for item, answer in devices.items() if answer)),
        tuple(sorted(item for item, answer in devices.items() if answer is None)),
    )


def _function(value: object) -> types.FunctionType | None:
    if isinstance(value, (types.FunctionType, staticmethod, classmethod)):
        return unwrap(value)
    if isinstance(value, functools._lru_cache_wrapper):
        return unwrap(value)
    return None


def _mentions(function: Function) -> bool:
    """Cheap look before a signature is read: most methods have nothing like a device."""
    return any(
        _DEVICE.search(text.lower())
        for item in function.arguments
        for text in (item.name, item.annotation or "")
    )
