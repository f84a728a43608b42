import pytest
import tdev
import torch

from pick import Picker, move


def has_gpu():
    return torch.cuda.is_available()


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no MPS")
def test_picks_mps():
    assert Picker("auto").device.type == "mps"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="none there")
def test_picks_a_gpu():
    assert Picker("auto").device.type == "cuda"


def test_picks_the_same():
    if has_gpu():
        assert Picker("gpu").device == Picker("auto").device


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_moved(kind):
    if kind == "cuda" and not tdev.cuda.is_available():
        return
    assert move(torch.zeros(4), kind).device.type == tdev.device(kind).type


@pytest.mark.parametrize("kind", ["same", "other"])
def test_told_apart(device, kind):
    if not torch.cuda.is_available() and kind == "other":
        pytest.skip("no other device")
    if kind == "same":
        other = device
    elif device.type == "cuda":
        other = torch.device("cpu")
    elif device.type == "cpu":
        other = tdev.device("cuda:0")
    else:
        raise ValueError(device.type)
    assert Picker(device).device != Picker(other).device or kind == "same"
