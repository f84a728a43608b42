"""Module attributes that a program may set: torch and the mirror never disagree about one."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType

import pytest
import tdev
import torch
import torch.nn.attention

from tests.catalog import catalog


def _flags() -> Iterator[tuple[str, str]]:
    """Give each module attribute of the public API that holds a plain value, as module and name."""
    for name in sorted(catalog()["modules"]):
        module = sys.modules.get(name)
        if not isinstance(module, ModuleType):
            continue
        names = {*vars(module), *(n for n in vars(type(module)) if not n.startswith("_"))}
        for attribute in sorted(names):
            if not attribute.startswith("_") and isinstance(
                getattr(module, attribute, None), (bool, int, float, str, type(None))
            ):
                yield name, attribute


with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # some names are deprecated
    _FLAGS = list(_flags())


def test_the_flags_that_programs_set_are_among_them() -> None:
    cudnn = {
        ("torch.backends.cudnn", n) for n in ("enabled", "benchmark", "deterministic", "allow_tf32")
    }
    assert {*cudnn, ("torch.nn.attention", "WARN_FOR_UNFUSED_KERNELS")} <= set(_FLAGS)


def test_a_flag_set_to_what_it_is_follows_torch() -> None:
    stale = []
    for module, name in _FLAGS:
        source = sys.modules[module]
        mirror = importlib.import_module("tdev" + module.removeprefix("torch"))
        if mirror is source or name in mirror.__tdev_mirror__.routed:
            continue  # torch's own module, or a name that the mirror answers itself
        before = getattr(source, name)
        other = object() if not isinstance(before, (bool, type(None))) else not before
        try:
            setattr(mirror, name, before)
            setattr(source, name, other)
        except (AttributeError, TypeError, RuntimeError, AssertionError, ValueError):
            continue  # read only, or checked
        try:
            if getattr(mirror, name) is not getattr(source, name):
                stale.append(f"{module}.{name}")
        finally:
            setattr(source, name, before)
    assert not stale


@pytest.mark.parametrize("name", ["enabled", "benchmark", "deterministic", "allow_tf32"])
def test_a_context_changes_a_flag_that_was_set_before(name: str) -> None:
    flags = tdev.backends.cudnn
    before = getattr(flags, name)
    setattr(flags, name, before)
    with flags.flags(**{name: not before}):
        assert getattr(flags, name) is getattr(torch.backends.cudnn, name) is (not before)
    assert getattr(flags, name) is before


def test_setting_what_it_is_still_asks_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    known = torch.backends.flags_frozen.__globals__
    monkeypatch.setitem(known, "__allow_nonbracketed_mutation_flag", False)
    with pytest.raises(RuntimeError, match="not allowed"):
        tdev.backends.cudnn.enabled = tdev.backends.cudnn.enabled
