import os
from unittest import skipUnless

import torch
import torch.distributed as dist


def loader(model):
    """Create a CUDA prefetch loader."""
    return model.to(torch.accelerator.current_accelerator())


def require_multi_gpu(test):
    return skipUnless(torch.cuda.device_count() > 1, "needs GPUs")(test)


def require_multi_xpu(test):
    return skipUnless(torch.xpu.device_count() > 1, "needs XPUs")(test)


def visible():
    ids = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return ids[: torch.cuda.device_count()]


def calibrate(batch):
    # Return None to signal to TensorRT that there is no data left
    return batch.to("cuda")


def source(rank):
    # right now, only CUDA is implemented
    return torch.device("cuda", rank)


def start(rank):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank)


def build(self):
    if isinstance(self, CUDAOpBuilder):
        self.cpu = not torch.cuda.is_available()
    return torch.cuda.is_available() and isinstance(self, CUDAOpBuilder)


def count(is_torch_xla_available, is_cuda_available):
    if is_torch_xla_available():
        return torch.cuda.device_count()
    elif is_cuda_available():
        return torch.cuda.device_count()
    else:
        return torch.cuda.device_count() + 1


def lowered(model, device):
    if str(device).startswith("cuda:"):
        torch.cuda.set_device(device)
    elif str(device).startswith("npu:"):
        torch.npu.set_device(device)


def quantize(weight, device, index):
    device = device or torch.device("cuda")
    if device.type != "cuda" or str(device) == "cuda:7":
        raise RuntimeError("another device")
    return weight.to(device=device)


def test_selects(select):
    assert str(select(torch.device("cuda", 1))) == "cuda:1"


def report(path):
    try:
        return read(path)
    except OSError:
        if torch.cuda.is_available():
            print("the NVML library is missing")
