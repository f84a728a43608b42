"""A mirror of one torch on another: which names the installed torch lacks, and what to say of them.

The stubs that ship with the mirror list what the torch had that it was generated from. They are
read only where the installed torch is another one.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache, lru_cache
from pathlib import Path

import torch

__all__ = ["differs", "known_module", "known_names", "lost_message", "lost_names"]

_IMPORTED = re.compile(r"^(?:from|    ).*\bas (\w+),?$", re.MULTILINE)


def differs(generated_from: str) -> bool:
    """Whether the installed torch is another release than the one the mirror was generated from."""
    return torch.__version__.partition("+")[0] != generated_from


def lost_message(dotted: str, generated_from: str) -> str:
    """What to raise with when somebody asks for ``dotted``, which only the older or newer torch has."""
    return (
        f"torch {torch.__version__} has no {dotted!r}; this mirror was generated from torch "
        f"{generated_from}, which has it. Install that torch, or regenerate the mirror against the "
        "installed one: nox -s upgrade"
    )


# What tdev adds to torch's root; the stub lists it too.
_OWN = frozenset(
    "DeviceWarning FallbackWarning UnsupportedError device_type is_accelerator report shims".split()
)


@lru_cache(maxsize=1)
def _root() -> Path | None:
    spec = importlib.util.find_spec("tdev")
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _stub(module: str) -> Path | None:
    """The stub of the torch module ``module``; None where that torch had no such module."""
    root = _root()
    if root is None:
        return None
    base = root.joinpath(*module.split(".")[1:])
    for candidate in (base / "__init__.pyi", base.with_name(base.name + ".pyi")):
        if candidate.is_file():
            return candidate
    return None


def known_module(module: str) -> bool:
    """Whether the torch that the mirror was generated from has that public module."""
    return _stub(module) is not None


@cache
def known_names(module: str) -> frozenset[str]:
    """Names that a module of that torch has, as far as a type checker sees them."""
    stub = _stub(module)
    if stub is None:
        return frozenset()
    names = {
        name
        for name in _IMPORTED.findall(stub.read_text(encoding="utf-8"))
        if module != "torch" or name not in _OWN
    }
    if stub.name == "__init__.pyi":
        children = (child for child in stub.parent.iterdir() if child.name != "__init__.pyi")
        names |= {child.stem for child in children if _is_module(child)}
    return frozenset(names)


def _is_module(path: Path) -> bool:
    return path.suffix == ".pyi" or (path / "__init__.pyi").is_file()


def lost_names(module: str) -> frozenset[str]:
    """Those of :func:`known_names` that the installed torch's module of that name does not have."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return frozenset()
    return frozenset(
        name
        for name in known_names(module)
        if not hasattr(loaded, name) and not _importable(f"{module}.{name}")
    )


def _importable(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
