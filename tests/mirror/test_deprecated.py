"""What torch marks as deprecated warns through the mirror too, in torch's words and on the program's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import tdev
import torch
from tdev.accelerator import current_device_index

from tdev_core.mirror.deprecation import deprecated_as

NAMES = {
    "torch.cuda.amp.custom_fwd": lambda api: api.cuda.amp.custom_fwd(lambda *_: None),
    "torch.cuda.amp.custom_bwd": lambda api: api.cuda.amp.custom_bwd(lambda *_: None),
    "torch.cuda.memory_cached": lambda api: api.cuda.memory_cached(),
    "torch.cuda.max_memory_cached": lambda api: api.cuda.max_memory_cached(),
}


def told(call: Callable[[Any], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(tdev)
    return caught


@pytest.mark.parametrize("name", NAMES)
def test_it_warns_once_as_torch_does(name: str) -> None:
    original: Any = torch
    for part in name.split(".")[1:]:
        original = getattr(original, part)
    (warned,) = told(NAMES[name])
    assert (str(warned.message), warned.category) == (original.__deprecated__, FutureWarning)
    assert warned.filename == __file__


def test_what_a_deprecated_name_stands_for_does_not_warn() -> None:
    """Python's mark is on both, the name that went and the function that it calls."""
    assert hasattr(torch.accelerator.current_device_index, "__deprecated__")
    assert told(lambda _: current_device_index()) == []
    assert len(told(lambda api: api.accelerator.current_device_idx())) == 1


def test_objects_of_torch_are_not_asked() -> None:
    """``torch.backends.cuda.cufft_plan_cache`` hands every question on to a device."""

    class Asks:
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"asked for {name}")

    assert deprecated_as(answer, Asks()) is answer


def answer() -> None: ...
