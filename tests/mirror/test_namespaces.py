"""What a mirror has besides its attributes: names that its body needs for itself, and its ``__dict__``."""

from __future__ import annotations

import importlib
from types import ModuleType

from tests.catalog import catalog
from tests.programs import run


def mirrors() -> list[tuple[ModuleType, ModuleType]]:
    found = []
    for name in catalog()["mirrors"]:
        try:
            theirs = importlib.import_module(name)
        except ImportError:
            continue  # another torch has it
        found.append((importlib.import_module("tdev" + name[len("torch") :]), theirs))
    return found


def test_what_a_body_imports_hides_nothing_of_torchs() -> None:
    """``torch._compile`` is a module, ``torch.distributed._Backend`` a class and ``torch.jit.annotations`` a module, too."""
    own: list[str] = []
    for ours, theirs in mirrors():
        state = ours.__dict__["__tdev_mirror__"]
        for name in set(vars(ours)) - state.routed - state.elsewhere.keys():
            value = getattr(theirs, name, None)
            if name[:2] != "__" and hasattr(theirs, name):
                if not (getattr(ours, name) is value or getattr(ours, name) == value):
                    own.append(f"{theirs.__name__}.{name}")
    assert own == []


def test_the_body_goes_on_calling_what_it_has_imported() -> None:
    code = """
        from unittest import mock
        import tdev, torch
        import tdev._compile
        assert tdev._compile is torch._compile and tdev._compile._disable_dynamo(lambda: 3)() == 3
        with mock.patch.object(tdev, "_compile", "patched"):
            assert torch._compile == "patched" == tdev._compile
            assert tdev.compile(lambda x: x + 1, backend="eager", disable=True)(1) == 2
        assert tdev._compile is torch._compile
        assert tdev.compile(lambda x: x + 1, backend="eager", disable=True)(1) == 2
    """
    run(code, preload=("torch._dynamo",))
