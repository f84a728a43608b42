"""No method or constructor of torch that takes a device is without a shim or a reason.

The list of shims is emitted from the facts. This test does not believe them: it walks torch's live
classes by itself.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from types import FunctionType, MethodDescriptorType
from typing import Any

import tdev
import torch

from tdev_core.shims.install import wanted
from tests.catalog import ROOT, catalog

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Parameters that hold a device by their name, in all of torch.
NAMES = frozenset(
    "device devices device_id device_ids device_type output_device map_location".split()
)
# C methods have no signature that could be read; these name in their text what they take.
C_MOVES = ("cuda", "to", "xpu", "mtia", "pin_memory", "is_pinned", "type", "record_stream")


@lru_cache(maxsize=1)
def classes() -> list[type]:
    """Every class that a public module of torch has, and the torch classes it is derived from."""
    found: dict[type, None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in catalog()["modules"]:
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue  # needs an optional package that is not installed here
            for attribute in dir(module):
                value = getattr(module, attribute, None)
                if isinstance(value, type) and not attribute.startswith("_"):
                    found.update(dict.fromkeys(cls for cls in value.__mro__ if is_torchs(cls)))
    return list(found)


def is_torchs(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "torch" and cls.__module__ != "torch._ops"


def taking_a_device() -> Iterator[str]:
    for cls in classes():
        for name, value in list(vars(cls).items()):
            if name.startswith("_") and name not in ("__init__", "__new__"):
                continue
            function = getattr(value, "__func__", value)
            function = getattr(function, "__wrapped__", function)
            if not isinstance(function, FunctionType):
                continue
            if not function.__module__.startswith("torch"):
                continue  # what dataclasses and named tuples make
            parameters = inspect.signature(function, follow_wrapped=False).parameters
            if NAMES & parameters.keys():
                yield f"{cls.__module__}.{cls.__qualname__}.{name}"


@lru_cache(maxsize=1)
def reasons() -> dict[str, dict[str, Any]]:
    """What was curated, with patterns."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted((ROOT / "generator" / "routes").glob("shims*.toml")):
        found.update(tomllib.loads(file.read_text(encoding="utf-8")))
    return found


def accounted_for(dotted: str) -> bool:
    owner, _, name = dotted.rpartition(".")
    listed = {f"{row['owner']}.{row['name']}" for row in catalog()["shims"]}
    if dotted in listed:
        return True
    paths = {dotted} | {
        f"{path}.{name}"
        for member in [catalog()["members"].get(owner)]
        if member is not None
        for path in member["exports"]
    }
    return any(fnmatchcase(path, pattern) for path in paths for pattern in reasons())


def test_the_walk_sees_torch() -> None:
    assert len(classes()) > 900
    assert {
        "torch.nn.modules.linear.Linear.__init__",
        "torch.nn.modules.module.Module.cuda",
        "torch.nn.modules.module.Module.to_empty",
    } <= set(taking_a_device())


def test_every_method_with_a_device_has_a_shim_or_a_reason() -> None:
    assert sorted({dotted for dotted in taking_a_device() if not accounted_for(dotted)}) == []


def test_every_move_of_a_tensor_has_a_shim() -> None:
    listed = {row["name"] for row in catalog()["shims"] if row["owner"] == "torch.Tensor"}
    assert {name for name in C_MOVES if hasattr(torch.Tensor, name)} <= listed
    with_device = {
        name
        for name in dir(torch.Tensor)
        if name.startswith("new") and "device" in (getattr(torch.Tensor, name).__doc__ or "")
    }
    assert with_device and with_device <= listed


def test_what_is_listed_is_installed() -> None:
    """As far as the module is imported; the others wait for theirs."""
    if not wanted():
        assert tdev.shims.installed() == ()
        return
    classes()  # imports every module
    installed = set(tdev.shims.installed())
    listed = {f"{row['owner']}.{row['name']}" for row in catalog()["shims"]}
    assert installed <= listed
    for dotted in listed - installed:
        module = dotted.rpartition(".")[0].rpartition(".")[0]
        assert module not in sys.modules, dotted


def test_a_reason_is_given_where_there_is_no_shim() -> None:
    without = [key for key, entry in reasons().items() if not entry.get("factory")]
    assert without
    assert [key for key in without if len(reasons()[key].get("none", "")) < 10] == []


def test_methods_of_tensors_are_pickled_by_where_they_are_found() -> None:
    """As torch's are: ``pool.map(torch.Tensor.cuda, tensors)`` sends the method to another process."""
    names = [name for name, value in vars(torch.Tensor).items() if hasattr(value, "__wrapped__")]
    shims = {dotted.rpartition(".")[2] for dotted in tdev.shims.installed()} & set(names)
    assert not wanted() or {"to", "cuda", "new_zeros"} <= shims
    for name in shims:
        method = getattr(torch.Tensor, name)
        if isinstance(method.__wrapped__, MethodDescriptorType):
            assert pickle.loads(pickle.dumps(method)) is method, name
