"""The arms of emitted functions, as the catalog lists them: what they call, and arguments to call them with."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tdev_core.mirror.namespace import own_names
from tests.catalog import ROOT, catalog, mirrored

__all__ = ["Call", "Case", "Target", "arguments", "cases", "core_calls", "in_stub", "targets"]


@dataclass(frozen=True)
class Case:
    """One definition of one mirror on one backend, with the statements of its arm."""

    module: str
    backend: str
    row: dict[str, Any]
    body: tuple[str, ...]

    @property
    def mirror(self) -> ModuleType:
        """The emitted module."""
        return importlib.import_module(mirrored(self.module))

    @property
    def original(self) -> Any:
        """Torch's own object."""
        return getattr(importlib.import_module(self.module), self.row["name"])

    def __str__(self) -> str:
        return f"{self.row['torch_name']}-{self.backend.lower()}"


@dataclass(frozen=True)
class Target:
    """One place that an arm reaches: an attribute of an object."""

    text: str
    parent: Any
    leaf: str


def cases(*kinds: str) -> list[Case]:
    """Every arm of every definition of the given kinds."""
    return [
        Case(module, backend, row, tuple(arm["body"]))
        for module, mirror in catalog()["mirrors"].items()
        for row in mirror["definitions"]
        if row["kind"] in kinds
        for arm in row["arms"]
        for backend in arm["backends"] or ["CPU"]  # none: the same on all
    ]


def targets(case: Case) -> list[Target]:
    """What the arm calls, outermost first: functions of torch and of ``tdev_core``."""
    tree = ast.parse("def arm():\n" + "\n".join("    " + line for line in case.body))
    found = (
        _target(node.func, case.mirror) for node in ast.walk(tree) if isinstance(node, ast.Call)
    )
    return [target for target in found if target is not None]


def _target(node: ast.expr, mirror: ModuleType) -> Target | None:
    match node:
        case ast.Attribute(value=value, attr=leaf):
            parent = _object(value, mirror)
            return None if parent is None else Target(ast.unparse(node), parent, leaf)
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="vars"), args=[inner]),
            slice=ast.Constant(value=str(leaf)),
        ):
            return Target(ast.unparse(node), _object(inner, mirror), leaf)
        case _:
            return None  # a local, or the answer of another call


def _object(node: ast.expr, mirror: ModuleType) -> Any:
    match node:
        case ast.Name(id="torch"):
            return torch
        case ast.Name(id="_mx"):
            return importlib.import_module("mlx.core")
        case ast.Name(id=name):
            return own_names(mirror).get(name)
        case ast.Attribute(value=value, attr=leaf):
            parent = _object(value, mirror)
            if parent is torch and leaf not in vars(torch):
                return importlib.import_module(f"torch.{leaf}")
            return None if parent is None else getattr(parent, leaf)
        case _:
            return None


def arguments(case: Case, *, everything: bool) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for the emitted signature, the optional ones too if ``everything``.

    Where that is ``*args, **kwargs``, those that the catalog's first signature requires.
    """
    signature = case.row["signature"]
    if signature.startswith("(*args: Any, **kwargs: Any)"):
        member = catalog()["members"][case.row["torch_name"]]
        parameters = member["signatures"][0]["parameters"] if member["signatures"] else []
        required = [parameter for parameter in parameters if parameter["default"] is None]
        values = {
            kind: {
                row["name"]: _plausible(ast.arg(row["name"]))
                for row in required
                if row["kind"].startswith(kind)
            }
            for kind in ("positional", "keyword_only")
        }
        return [*values["positional"].values()], values["keyword_only"]
    node = ast.parse(f"def f{signature}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    spec = node.args
    positional = [*spec.posonlyargs, *spec.args]
    required = len(positional) - len(spec.defaults)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for number, parameter in enumerate(positional):
        if number < required or everything:
            value = _plausible(parameter)
            if number < len(spec.posonlyargs) or spec.vararg:
                args.append(value)
            else:
                kwargs[parameter.arg] = value
    for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        if default is None or everything:
            kwargs[parameter.arg] = _plausible(parameter)
    return args, kwargs


_BY_NAME: dict[str, Any] = {
    "device": "cuda:0",
    "device_type": "cuda",
    "devices": [0],
    "device_ids": [0],
    "dtype": torch.float32,
    "f": "weights.pt",
    "fn": abs,
    "bwd": abs,
    "fwd": abs,
    "size": 16,
    "t": torch.FloatTensor,
}
_BY_TYPE: dict[str, Any] = {"bool": True, "int": 1, "float": 0.5, "str": "text", "bytes": b""}


def _plausible(parameter: ast.arg) -> Any:
    if parameter.arg in _BY_NAME:
        return _BY_NAME[parameter.arg]
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    first = annotation.partition(" ")[0].partition("[")[0]
    if first in _BY_TYPE:
        return _BY_TYPE[first]
    return torch.ones(2) if first == "torch.Tensor" else object()


@lru_cache(maxsize=1)
def _stub() -> frozenset[str]:
    tree = ast.parse((Path(torch.__file__).parent / "_C" / "__init__.pyi").read_text("utf-8"))
    return frozenset(
        node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    )


# Registered in torch/csrc/cuda/Module.cpp, and left out of the stub.
_UNSTUBBED = frozenset({"_cuda_attach_out_of_memory_observer"})


def in_stub(name: str) -> bool:
    """Whether torch's stub of its C extension, which is the same for every build, has ``name``."""
    return name in _stub() or name in _UNSTUBBED


@dataclass(frozen=True)
class Call:
    """One call of a device module of torch, as a source file of ``tdev_core`` has it."""

    where: str
    dotted: str
    args: tuple[None, ...]
    kwargs: dict[str, None]

    def resolve(self) -> Any:
        """What is called; None where torch has no such name."""
        found: Any = torch
        for part in self.dotted.split(".")[1:]:
            found = getattr(found, part, None)
        return found

    def __str__(self) -> str:
        return f"{self.where}-{self.dotted}"


_NAMED = re.compile(r"torch\.(accelerator|cuda|mps|mtia|xpu)(\.\w+)+")


def core_calls() -> list[Call]:
    """Every call ``torch.cuda.x(…)``, ``torch.mps.x(…)``, … in ``tdev_core`` whose arguments are written out."""
    found: list[Call] = []
    for path in sorted((ROOT / "tdev_core").rglob("*.py")):
        text = path.read_text("utf-8")
        if not _NAMED.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            dotted = ast.unparse(node.func)
            starred = any(isinstance(argument, ast.Starred) for argument in node.args)
            if starred or any(keyword.arg is None for keyword in node.keywords):
                continue
            if re.fullmatch(_NAMED.pattern, dotted):
                where = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
                kwargs = {str(keyword.arg): None for keyword in node.keywords}
                found.append(Call(where, dotted, (None,) * len(node.args), kwargs))
    return found
