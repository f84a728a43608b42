"""Remember facts between runs, outside of the repository, so that the memory cannot be wrong.

The key is a hash over everything that the facts are read from: this package's own source, every
file of the installed torch by name, size and time of change, torch's requirements by version, and
the Python. A changed key is a different file. What is read back is checked against the digest
stored beside it; anything odd is thrown away and read anew.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from generator.facts.model import (
    Facts,
    Member,
    Method,
    Module,
    Operator,
    Parameter,
    Private,
    Signature,
)
from generator.facts.pin import FactsError, check_pinned
from generator.facts.walk import Progress, requirements
from generator.running import caches
from generator.running.garbage import uncollected

_SUFFIX = ".facts.json"
_KEEP = 4  # cache files that stay: one per torch or Python in use
# Variables that torch reads while it is imported and that change what it defines.
_ENVIRONMENT = ("PYTORCH_", "TORCH_", "CUDA_", "PYTHONOPTIMIZE", "USE_")


def introspect(
    progress: Progress | None = None, *, cache: bool = True, allow_version: bool = False
) -> Facts:
    """Facts about the installed torch.

    ``progress`` is called with a stage, the number done and the total (0: not known). ``cache``
    permits to read and to write the cache. ``allow_version`` accepts a torch that is not the pinned
    one. Raises ``FactsError`` for a missing or wrong torch.
    """
    check_pinned(allow_version)
    path = caches.folder() / f"{key()}{_SUFFIX}" if cache else None
    if path is not None:
        known = load(path)
        if known is not None:
            return known
    # Here, so that an answer from the cache costs no import of torch.
    from generator.facts.installed import read_installed

    with uncollected():
        facts = read_installed(progress)
        if path is not None:
            store(path, facts)
    return facts


def key() -> str:
    """Hash over everything that facts depend on."""
    digest = hashlib.sha256()
    for line in _ingredients():
        digest.update(line.encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]


def _ingredients() -> Iterator[str]:
    yield f"{sys.implementation.name} {sys.version} {platform.platform()}"
    for source in sorted(Path(__file__).parent.glob("*.py")):
        yield f"{source.name} {hashlib.sha256(source.read_bytes()).hexdigest()}"
    for name in sorted(requirements()):
        spec = importlib.util.find_spec(name) if name not in ("torch", "torchgen") else None
        yield f"{name} {spec.origin if spec else ''}"
    yield from sorted(_versions())
    for name in ("torch", "torchgen", "functorch"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise FactsError(
                f"{name} is part of the torch wheel and cannot be found; reinstall torch."
            )
        yield from _tree(Path(spec.origin).parent)
    for variable in sorted(os.environ):
        if variable.startswith(_ENVIRONMENT):
            yield f"{variable}={os.environ[variable]}"


def _versions() -> Iterator[str]:
    wanted = requirements()
    for package, owners in importlib.metadata.packages_distributions().items():
        if package in wanted or package in ("numpy", "yaml", "libcst"):
            for owner in sorted(set(owners)):
                yield f"{owner}=={importlib.metadata.version(owner)}"


def _tree(root: Path) -> Iterator[str]:
    """Yield every source, stub, table and library in a package: path, size, time of change."""
    stack = [str(root)]
    while stack:
        current = stack.pop()
        with os.scandir(current) as entries:
            for entry in sorted(entries, key=lambda item: item.name):
                if entry.is_dir(follow_symlinks=False):
                    # Headers and libraries' data cannot change what Python sees.
                    if entry.name not in ("__pycache__", "include", "share", "test"):
                        stack.append(entry.path)
                elif entry.name.endswith((".py", ".pyi", ".yaml", ".so", ".pyd", ".dylib")):
                    status = entry.stat()
                    yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"


def store(path: Path, facts: Facts) -> None:
    """Write facts so that a reader sees all or nothing; a cache that cannot be written is none."""
    body = json.dumps(facts, ensure_ascii=True, separators=(",", ":"), default=_fields_of)
    text = f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}"
    if caches.store(path, text):
        caches.forget_oldest(path.parent, _SUFFIX, _KEEP)


def _fields_of(value: Any) -> dict[str, Any]:
    """Return one level of ``dataclasses.asdict``; JSON's encoder asks for the next ones."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def load(path: Path) -> Facts | None:
    """Read facts back; ``None`` for a file that is missing, damaged or of another shape."""
    try:
        digest, _, body = (caches.load(path) or "").partition("\n")
        if hashlib.sha256(body.encode()).hexdigest() != digest:
            return None
        return from_json(json.loads(body))
    except (ValueError, TypeError, KeyError):
        return None


def as_json(facts: Any) -> Any:
    """Return facts, or a part of them, as JSON types: what ``store`` writes."""
    return json.loads(json.dumps(facts, default=_fields_of))


def from_json(data: dict[str, Any]) -> Facts:
    """Return the inverse of :func:`as_json`."""
    return Facts(
        torch=data["torch"],
        modules=tuple(_module(item) for item in data["modules"]),
        members=tuple(_member(item) for item in data["members"]),
        methods=tuple(_method(item) for item in data["methods"]),
        operators=tuple(_operator(item) for item in data["operators"]),
        skipped=tuple((name, reason) for name, reason in data["skipped"]),
        differences=tuple(data["differences"]),
        private=tuple(_private(item) for item in data["private"]),
    )


def _signatures(items: list[dict[str, Any]]) -> tuple[Signature, ...]:
    return tuple(
        Signature(tuple(Parameter(**one) for one in item["parameters"]), item["returns"])
        for item in items
    )


def _member(item: dict[str, Any]) -> Member:
    return Member(
        **{
            **item,
            "signatures": _signatures(item["signatures"]),
            "exports": tuple(item["exports"]),
            "bases": tuple(item["bases"]),
            "operators": tuple(item["operators"]),
        }
    )


def _method(item: dict[str, Any]) -> Method:
    return Method(
        **{
            **item,
            "signatures": _signatures(item["signatures"]),
            "classes": tuple(item["classes"]),
            "devices": tuple(item["devices"]),
            "undecided": tuple(item["undecided"]),
        }
    )


def _module(item: dict[str, Any]) -> Module:
    return Module(
        **{
            **item,
            "names": tuple(item["names"]),
            "declared": tuple(item["declared"]),
            "modules": tuple((name, target) for name, target in item["modules"]),
            "missing": tuple(item["missing"]),
            "visible": tuple(item["visible"]),
        }
    )


def _operator(item: dict[str, Any]) -> Operator:
    return Operator(**{**item, "tags": tuple(item["tags"]), "variants": tuple(item["variants"])})


def _private(item: dict[str, Any]) -> Private:
    return Private(**{**item, "visible": tuple(item["visible"])})


MAKERS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "modules": _module,
    "members": _member,
    "methods": _method,
    "operators": _operator,
    "private": _private,
}
"""What makes an entry of each table of facts from its JSON."""
