"""A mirror of one torch on another: which names the installed torch lacks, and what to say of them.

What ships for type checkers (a stub beside each mirror, a plain file for each alias) lists what the
torch had that the mirror was generated from. It is read only where the installed torch is another one.
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
    """Whether the installed torch is another release than the one the mirror was generated from.

    An empty ``generated_from`` is that of a module which is not generated: an alias that answers a
    few names itself. Nothing that it lacks is another torch's.
    """
    return bool(generated_from) and torch.__version__.partition("+")[0] != generated_from


def lost_message(dotted: str, generated_from: str) -> str:
    """What to raise with when somebody asks for ``dotted``, which only the older or newer torch has."""
    return (
        f"torch {torch.__version__} has no {dotted!r}; this mirror was generated from torch "
        f"{generated_from}, which has it. Install that torch, or regenerate the mirror against the "
        "installed one: nox -s upgrade"
    )


# What tdev adds to torch's root, names and files.
_OWN = frozenset(
    "DeviceWarning FallbackWarning UnsupportedError device_type is_accelerator report shims "
    "codemod pytest_plugin _modules _shims __main__".split()
)


@lru_cache(maxsize=1)
def _root() -> Path | None:
    spec = importlib.util.find_spec("tdev")
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _stub(module: str) -> Path | None:
    """What checkers read of the torch module ``module``; None where that torch had no such module."""
    root, parts = _root(), module.split(".")[1:]
    if root is None or (parts and parts[0] in _OWN):
        return None
    base = root.joinpath(*parts)
    for suffix in (".pyi", ".py"):
        for candidate in (base / f"__init__{suffix}", base.with_name(base.name + suffix)):
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
    names = set(_IMPORTED.findall(stub.read_text(encoding="utf-8")))
    if stub.stem == "__init__":
        names |= {child.stem for child in stub.parent.iterdir() if _is_module(child)}
    return frozenset(names - _OWN if module == "torch" else names)


def _is_module(path: Path) -> bool:
    if path.suffix in (".py", ".pyi"):
        return path.stem != "__init__"
    return (path / "__init__.pyi").is_file() or (path / "__init__.py").is_file()


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
