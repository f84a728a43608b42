import io
from unittest.mock import patch

import tdev
import torch
from pydantic import field_validator

TORCH_2_4 = True


class Config:
    @field_validator("device")
    def canonical(cls, v):
        return str(torch.device(v))


def visible(devices):
    """Tell which.

    >>> with patch("torch.cuda.device_count", return_value=4):
    ...     visible([1])
    [1]
    """
    return [d for d in devices if d < torch.cuda.device_count()]


def moved(samples, device):
    non_blocking = device.type == "cuda"
    return samples.to(device, non_blocking=non_blocking).to(device, non_blocking=device.type == "cuda")


def stitched():
    non_blocking, count = torch.cuda.is_available(), -1
    return non_blocking, count, torch.cuda.device_count()


def rope(freqs_cis, r):
    if freqs_cis.is_cuda:
        freqs_cis = freqs_cis.repeat(r)
    else:
        # torch.repeat on complex numbers may not be supported on non-CUDA devices
        freqs_cis = freqs_cis.expand(r)
    return freqs_cis


def exported(model, path):
    script = torch.jit.script(model)
    torch.jit.save(script, path)
    return tdev.cuda.current_device()


def why(device):
    reason = None
    if device.type != "cuda":
        reason = f"the model is on {device.type!r}, not CUDA"
    return reason


def told(device):
    return "gpu" if device.type == "cuda" else device.type


def amp(device):
    if TORCH_2_4:
        return tdev.amp.autocast(device)
    else:
        return torch.cuda.amp.autocast()


def other(device, indices):
    if device.startswith(("npu", "xpu")):
        return torch.device(device, indices[0])
    return tdev.device(device)


def received(data):
    buffer = io.BytesIO()
    torch.save(data, buffer)
    buffer = io.BytesIO(data.numpy())
    return tdev.load(buffer)
