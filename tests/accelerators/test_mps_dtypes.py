"""float64 where the device has none: MPS, for which ``meta`` stands in here, refusing what Metal lacks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tdev_core import errors
from tdev_core.accelerators import mps
from tdev_core.errors import DeviceWarning
from tdev_core.shims import moves
from tests.forkserver import environment, python

WIDE = [
    pytest.param(torch.float64, torch.float32, id="float64"),
    pytest.param(torch.complex128, torch.complex64, id="complex128"),
]


@pytest.fixture(autouse=True)
def _metal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mps, "lacks_wide_types", lambda: True)
    monkeypatch.setattr(mps, "_TYPE", "meta")
    monkeypatch.setattr(errors, "_warned", set())


def refusing(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """As torch's own functions do on MPS."""

    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = function(*args, **kwargs)
        if made.device.type == "meta" and made.dtype in mps.NARROWER:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
        return made

    return call


to: Any = moves.tensor_to(refusing(torch.Tensor.to))
META = torch.device("meta")


@pytest.mark.parametrize("given, narrow", WIDE)
def test_a_move_narrows_what_nobody_named_and_says_so_once(
    given: torch.dtype, narrow: torch.dtype
) -> None:
    x = torch.ones(2, dtype=given)
    with pytest.warns(DeviceWarning, match=f"no {given}: {narrow} is used") as told:
        for _ in range(2):
            moved = to(x, META)
    assert len(told) == 1 and told[0].filename == __file__
    assert moved.device == META and moved.dtype is narrow and x.dtype is given


@pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning")
def test_every_form_of_a_move_without_a_type() -> None:
    x = torch.ones(2, dtype=torch.float64)
    for moved in (
        to(x, "meta"),
        to(x, META, None, True),
        to(x, META, non_blocking=True, copy=True),
        to(x, device="meta"),
        to(x, device="meta", dtype=None),
    ):
        assert moved.device == META and moved.dtype is torch.float32


def test_what_is_named_is_done_or_refused() -> None:
    x = torch.ones(2, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert to(x, META, torch.float16).dtype is torch.float16
        assert to(x, device="meta", dtype=torch.int64).dtype is torch.int64
        assert to(x, "cpu", torch.float64) is x
        assert to(x.float(), META).dtype is torch.float32
        assert to(x, torch.ones(1, device="meta")).dtype is torch.float32
        for named in (lambda: to(x, META, torch.float64), lambda: to(x, "meta", dtype=x.dtype)):
            with pytest.raises(TypeError, match="ask for torch.float32, or keep this tensor on"):
                named()


@pytest.mark.parametrize(
    "make, arguments, expected",
    [
        (torch.tensor, (np.array([1.0, 2.0]),), torch.float32),
        (torch.as_tensor, (np.array([1 + 2j]),), torch.complex64),
        (torch.tensor, (np.float64(3.0),), torch.float32),
        (torch.tensor, (np.array([1, 2]),), torch.int64),
        (torch.full, ((2,), 1), torch.int64),
        (torch.zeros, ((2,),), torch.float32),
        (torch.arange, (0.0, 3.0), torch.float32),
    ],
)
@pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning")
def test_factories_narrow_what_nobody_named(
    make: Callable[..., torch.Tensor], arguments: tuple[Any, ...], expected: torch.dtype
) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        made = mps.narrow_by_default(refusing(make))(*arguments, device=META)
    finally:
        torch.set_default_dtype(torch.float32)
    assert made.device == META and made.dtype is expected


def test_a_factory_warns_where_it_is_called_and_makes_a_leaf() -> None:
    tensor = mps.narrow_by_default(refusing(torch.tensor))
    with pytest.warns(DeviceWarning) as told:
        made = tensor(np.ones(2), device=META, requires_grad=True)
    assert told[0].filename == __file__
    assert made.is_leaf and made.requires_grad and made.dtype is torch.float32


def test_factories_refuse_what_is_named_and_hand_other_errors_on() -> None:
    zeros = mps.narrow_by_default(refusing(torch.zeros))
    with pytest.raises(TypeError, match="ask for torch.float32, or keep this tensor on"):
        zeros(2, dtype=torch.float64, device=META)
    assert zeros(2, dtype=torch.float64, device="cpu").dtype is torch.float64
    with pytest.raises(TypeError, match="zeros"):
        zeros("two", device=META)
    with pytest.raises(TypeError, match="zeros"):
        zeros(2, dtype="float", device=META)


PROGRAM = """
import os, sys
from tdev_core.mirror import launch
sys.platform, here = "darwin", sys.platform
launch.before_torch()
sys.platform = here
assert "torch" not in sys.modules, "torch reads it when it is imported"
from tdev_core.accelerators import mps
mps.lacks_wide_types = lambda: True
import tdev
print(os.environ["PYTORCH_ENABLE_MPS_FALLBACK"])
narrowing = [n for n in ("zeros", "tensor", "arange", "as_tensor") if "make" in getattr(tdev, n).__code__.co_name]
print(narrowing, tdev.zeros.__name__, tdev.tensor([1.0]).dtype)
"""


@pytest.mark.parametrize("before", [None, pytest.param("0", marks=pytest.mark.deep)])
def test_operators_fall_back_unless_the_user_said_otherwise_and_factories_narrow(
    before: str | None,
) -> None:
    env = environment(TDEV_BACKEND="cpu", PYTORCH_ENABLE_MPS_FALLBACK=before)
    done = python("-c", PROGRAM, env=env, fresh=True)  # it is about what comes before torch
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        before or "1",
        "['zeros', 'tensor', 'arange', 'as_tensor'] zeros torch.float32",
    ]
