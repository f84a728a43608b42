"""``device``, ``Stream``, ``Event`` and ``Generator`` of the mirror beside torch's: what they take and what they are."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tdev_core.backend import Backend, current
from tdev_core.mirror import standins
from tests.programs import run

on_cpu = pytest.mark.skipif(
    current() is not Backend.CPU, reason="compared with what torch makes on the CPU"
)


def made(kind: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What comes of a call: a device, or the error in full."""
    try:
        found = getattr(module, kind)(*args, **kwargs)
    except (TypeError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    assert isinstance(found, getattr(torch, kind)) and isinstance(found, getattr(standins, kind))
    return str(found if kind == "device" else found.device)


@on_cpu
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("cpu",), {}),
        (("cpu", 0), {}),
        (("cpu:0",), {}),
        (("meta",), {}),
        ((), {"device": "cpu"}),
        ((), {"type": "cpu"}),
        ((), {"type": "cpu", "index": 0}),
        (("cpu",), {"index": 0}),
        (("cpu", None), {}),
        ((torch.device("cpu", 0),), {}),
        # none of these is a device
        ((), {}),
        ((), {"index": 0}),
        ((None,), {}),
        ((1.5,), {}),
        (("no device",), {}),
        (("cuda", "0"), {}),
        (("cuda", -1), {}),
        (("cuda:0", 0), {}),
        (("cuda", 0, 1), {}),
        (("cuda", 0), {"type": "cpu"}),
        (("cpu",), {"device": "cuda"}),
        ((), {"device": "cuda", "index": 0}),
        ((), {"device": "cuda", "type": "cpu"}),
        ((), {"type": None, "index": 0}),
        (("cpu",), {"other": 1}),
    ],
)
def test_a_device_is_made_as_torch_makes_it(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert made("device", standins, args, dict(kwargs)) == made("device", torch, args, dict(kwargs))


@on_cpu
@pytest.mark.parametrize("kind", ["Stream", "Event", "Generator"])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        (("cpu",), {}),
        ((), {"device": "cpu"}),
        (("meta",), {}),
        ((), {"device": "meta"}),
        ((), {"enable_timing": True, "blocking": True, "interprocess": False}),
        ((), {"priority": 0}),
        ((), {"other": 1}),
        ((), {"device": "cpu", "other": 1}),
    ],
)
def test_the_other_stand_ins_take_what_torchs_take(
    kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    if torch.version.cuda and kind != "Generator" and not args and "device" not in kwargs:
        pytest.skip("a build for CUDA asks the driver for the current device, and there is none")
    assert made(kind, standins, args, dict(kwargs)) == made(kind, torch, args, dict(kwargs))


@pytest.mark.parametrize("kind", ["device", "Stream", "Event", "Generator"])
def test_a_stand_in_counts_as_what_it_stands_for(kind: str) -> None:
    mine, real = getattr(standins, kind), getattr(torch, kind)
    assert repr(mine) == repr(real) and mine == real and hash(mine) == hash(real)
    assert issubclass(real, mine) and issubclass(mine, mine)
    assert not issubclass(int, mine) and not isinstance(1, mine)
    assert {real: 1}[mine] == 1
    assert mine.__doc__ and mine.real is real


def test_they_are_made_on_the_device_that_is_named() -> None:
    """On two devices of ``sim``: by position and by keyword, with each option."""
    run(
        """
        import tdev, torch
        first, second = tdev.device("cuda:0"), tdev.device("cuda:1")
        assert (first.type, second.index) == ("sim", 1)
        for kind in (tdev.Stream, tdev.Event, tdev.Generator):
            for make in (lambda d: kind(d), lambda d: kind(device=d)):
                for device in ("cuda:1", torch.device("sim:1"), second):
                    assert make(device).device == second, (kind, device)
                assert make("cuda").device == first and make("cpu").device.type == "cpu"
        assert tdev.Generator().device.type == "cpu"
        with tdev.cuda.device(1):
            assert tdev.Stream().device == second == tdev.Event().device
            assert tdev.Stream(priority=0).device == second
        for option in ("enable_timing", "blocking", "interprocess"):
            event = tdev.Event("cuda:1", **{option: option != "interprocess"})
            assert event.device == second
            event.record(); event.synchronize()
            assert event.query()
        drawn = tdev.rand(3, device="cuda:1", generator=tdev.Generator("cuda:1").manual_seed(3))
        again = tdev.rand(3, device="cuda:1", generator=tdev.Generator(device=second).manual_seed(3))
        assert drawn.device == second and tdev.equal(drawn, again)
        other = tdev.rand(3, device="cuda:1", generator=tdev.Generator("cuda:1").manual_seed(4))
        assert not tdev.equal(drawn, other)
        stream = tdev.Stream("cuda:1")
        same = tdev.Stream(
            stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
        )
        assert same == stream and same.device == second
    """,
        TDEV_BACKEND="sim",
        TDEV_SIM_DEVICES="2",
    )
