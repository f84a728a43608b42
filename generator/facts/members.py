"""Find every public member of the walked modules, once, under all its public paths.

A module's public names are ``__all__`` and every other attribute without a leading underscore,
because programs use both: ``torch.cuda.lru_cache`` is as reachable as ``torch.cuda.init``. A name
is left out where it is a module. Two paths are one member where they lead to the same object;
where identity means little (``None``, small numbers, cached ``Optional[int]``) they are one member
if the import statements say that one comes from the other.
"""

from __future__ import annotations

import functools
import types
import typing
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from generator.facts import notation
from generator.facts.docs import summary
from generator.facts.model import MemberKind, Module
from generator.facts.origins import Origins
from generator.facts.signatures import is_torch
from generator.facts.sources import ROOTS
from generator.facts.walk import Walked, is_public

# State of these modules grows while a program runs: every operator namespace that is looked up
# becomes an attribute. Only what their class defines is theirs.
DYNAMIC = frozenset({"torch.ops", "torch.classes"})
_PRIMITIVES = (bool, int, float, complex, str, bytes, types.NoneType)
_TORCH_CONSTANTS = ("dtype", "layout", "memory_format", "qscheme")


@dataclass
class Found:
    """One object with all paths that lead to it; ``origin`` is where the text defines it."""

    value: object
    origin: str | None
    helper: bool
    flag: bool = False
    exports: list[str] = field(default_factory=list)
    name: str = ""
    kind: MemberKind = "instance"


@dataclass
class Collected:
    """All members by canonical name, the modules, and the paths of every export."""

    members: dict[str, Found]
    modules: tuple[Module, ...]
    canonical: dict[str, str]


def collect(walked: Walked, origins: Origins) -> Collected:
    """Group the public names of all modules by the object that they lead to."""
    groups: dict[object, Found] = {}
    modules: list[Module] = []
    for name, module in walked.modules.items():
        names: list[str] = []
        submodules: list[tuple[str, str]] = []
        missing: list[str] = []
        declared = _declared(module)
        lent, newer = _lent(module), _newer(name, origins)
        for attribute, flag in _attributes(name, module):
            if attribute in newer:
                continue
            if flag:
                value: object = None
            else:
                try:
                    value = getattr(module, attribute)
                except Exception:  # noqa: BLE001 - lazy attributes raise whatever they like
                    if attribute not in lent:
                        missing.append(attribute)
                    continue
            if is_a(value, types.ModuleType):
                submodules.append((attribute, typing.cast(types.ModuleType, value).__name__))
                continue
            names.append(attribute)
            path = f"{name}.{attribute}"
            key, found = _identify(path, value, flag, origins)
            groups.setdefault(key, found).exports.append(path)
        modules.append(
            Module(
                name=name,
                summary=summary(module.__doc__),
                is_package=hasattr(module, "__path__"),
                names=tuple(sorted(names)),
                has_all=declared is not None,
                declared=tuple(declared or ()),
                modules=tuple(sorted(submodules)),
                missing=tuple(sorted(missing)),
                reachable=_reachable(name, walked),
            )
        )
    members: dict[str, Found] = {}
    for found in groups.values():
        found.exports.sort()
        found.name = _canonical(found)
        found.kind = _kind(found)
        members[found.name] = found
    members = dict(sorted(members.items()))
    canonical = {path: name for name, found in members.items() for path in found.exports}
    return Collected(members, tuple(modules), canonical)


def _declared(module: types.ModuleType) -> list[str] | None:
    names = getattr(module, "__all__", None)
    if not isinstance(names, (list, tuple)):
        return None
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _attributes(name: str, module: types.ModuleType) -> Iterator[tuple[str, bool]]:
    """Public attribute names in order; True for a setting that the module's class computes."""
    flags: set[str] = set()
    offered: set[str] = set()
    if type(module) is not types.ModuleType:
        for base in type(module).__mro__:
            if base in (types.ModuleType, object):
                continue
            for attribute, value in vars(base).items():
                described = hasattr(value, "__get__") and not isinstance(
                    value, (types.FunctionType, staticmethod, classmethod)
                )
                (flags if described else offered).add(attribute)
    if name not in DYNAMIC:
        offered |= set(vars(module)) | set(_declared(module) or ())
        lent = _lent(module)
        offered = (offered - {"m"} if lent else offered) | lent
    for attribute in sorted(flags | offered):
        # pytest leaves names like "@py_builtins" in what is imported while it runs.
        if is_public(attribute) and attribute.isidentifier():
            yield attribute, attribute in flags


def _reachable(name: str, walked: Walked) -> bool:
    """Tell whether attribute access alone leads to a module, from ``torch`` downwards."""
    parts = name.split(".")
    for size in range(2, len(parts) + 1):
        package = walked.modules.get(".".join(parts[: size - 1]))
        module = walked.modules.get(".".join(parts[:size]))
        if package is None or getattr(package, parts[size - 1], None) is not module:
            return False
    return True


def _newer(name: str, origins: Origins) -> frozenset[str]:
    """Return names that a module has only because of the Python that runs it (see ``differences``)."""
    source = origins.source(name)
    if source is None:
        return frozenset()
    if "typing" not in source.stars:
        return source.versioned
    return source.versioned | notation.TYPING_SINCE_311 - source.public


def _lent(module: types.ModuleType) -> set[str]:
    """Return names of the module that a ``PropModule`` replaced and keeps as ``m``; it may answer for them."""
    replaced = vars(module).get("m")
    return set(vars(replaced)) if isinstance(replaced, types.ModuleType) else set()


def _identify(path: str, value: object, flag: bool, origins: Origins) -> tuple[object, Found]:
    if flag:
        return ("flag", path), Found(None, path, helper=False, flag=True)
    origin = origins.chain(path)
    outside = origin is not None and origin.partition(".")[0] not in ROOTS
    if origin is None and is_a(value, type, types.FunctionType):
        outside = not is_torch(value)
        if outside:
            made = typing.cast(type, value)
            origin = f"{made.__module__}.{made.__qualname__}"
    if outside and origin is not None:
        origin = _python_name(origin)
        return ("outside", origin), Found(value, origin, helper=True)
    if is_a(value, types.MethodType):
        # Every look at a method binds it anew.
        bound = typing.cast(types.MethodType, value)
        return ("method", id(bound.__self__), id(bound.__func__)), Found(value, origin, False)
    if _by_identity(value) or origin is None and not is_a(value, *_PRIMITIVES):
        return ("object", id(value)), Found(value, origin, helper=False)
    return ("origin", origin or path), Found(value, origin or path, helper=False)


def _python_name(origin: str) -> str:
    """Return one name for what typing and typing_extensions share; they are the same object or not
    depending on the Python."""
    if origin.startswith("typing_extensions.") and notation.home(origin).startswith("typing."):
        return notation.home(origin)
    return origin


def is_a(value: object, *classes: type) -> bool:
    """``isinstance`` that never asks the object itself.

    Some of torch's objects answer ``__class__`` with a warning, or any attribute by starting CUDA.
    """
    return issubclass(type(value), classes)


def _by_identity(value: object) -> bool:
    if notation.is_alias(value):
        return False
    return is_a(
        value,
        type,
        types.FunctionType,
        types.BuiltinFunctionType,
        types.MethodType,
        functools._lru_cache_wrapper,
    )


def _canonical(found: Found) -> str:
    """``__module__`` and ``__qualname__`` where that is public, else the shortest path."""
    if _by_identity(found.value):
        module = getattr(found.value, "__module__", None)
        name = getattr(found.value, "__qualname__", None)
        if f"{module}.{name}" in found.exports:
            return f"{module}.{name}"
    if found.origin in found.exports:
        return found.origin
    return min(found.exports, key=lambda path: (path.count("."), len(path), path))


def _kind(found: Found) -> MemberKind:
    value = found.value
    if found.flag:
        return "flag"
    if found.helper and (found.origin or "").startswith(("typing.", "typing_extensions.")):
        # Classes, functions and special forms change places there between Pythons.
        if (found.origin or "").endswith("TYPE_CHECKING"):
            return "constant"
        plain = is_a(value, types.FunctionType) and not getattr(value, "__name__", "A")[0].isupper()
        return "function" if plain else "type_alias"
    if value is typing.Any:
        return "class"  # which it is since Python 3.11
    if notation.is_alias(value):
        return "type_alias"
    if is_a(value, type):
        return "class"
    if is_a(value, types.FunctionType, types.MethodType, functools._lru_cache_wrapper):
        return "function"
    kind = type(value)
    if kind.__name__ in ("ScriptFunction", "OpOverloadPacket") and is_torch(kind):
        return "function"
    if is_a(value, types.BuiltinFunctionType) or kind.__name__ == "instancemethod":
        return "builtin"
    if _is_constant(value):
        return "constant"
    return "instance"


def _is_constant(value: object) -> bool:
    if type(value) is tuple or type(value) is frozenset:
        return all(_is_constant(item) for item in typing.cast("tuple[object, ...]", value))
    if type(value) in _PRIMITIVES:
        return True
    return type(value).__module__ == "torch" and type(value).__name__ in _TORCH_CONSTANTS


def paths_by_module(collected: Collected) -> dict[str, list[str]]:
    """Return every exported path by the module it belongs to."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in collected.canonical:
        found[path.rpartition(".")[0]].append(path)
    return found
