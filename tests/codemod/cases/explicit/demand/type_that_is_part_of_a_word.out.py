import pytest
import tdev
import torch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")
def test_buffers(layer):
    place = "cuda:0"
    layer.to(place)
    for buffer in layer.buffers():
        assert buffer.device.type in place


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")
def test_written_out(layer):
    layer.to("cuda:0")
    assert layer.weight.device.type in "cuda:0"


@pytest.mark.skipif(not tdev.cuda.is_available(), reason="CUDA not available")
def test_other(layer, places):
    layer.to("cuda:0")
    assert layer.weight.device.type in places


@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")
def test_other2(layer):
    place = "cuda"
    layer.to(place)
    assert layer.weight.device.type == place
