import pytest
import torch

from .devices import device_count


def require_torch_gpu(test):
    return pytest.mark.skipif(not torch.cuda.is_available(), reason="test requires a GPU")(test)


def require_torch_multi_gpu(test):
    missing = not torch.cuda.is_available() or device_count < 2
    return pytest.mark.skipif(missing, reason="test requires several GPUs")(test)


def require_torch_multi_xpu(test):
    missing = not torch.xpu.is_available() or device_count < 2
    return pytest.mark.skipif(missing, reason="test requires several XPUs")(test)
