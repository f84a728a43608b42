import torch


def backend_of(context):
    device_type = context.device_type
    if device_type == "cuda":
        from .cuda import CudaBackend

        return CudaBackend
    if device_type == "ascend":
        from .ascend import AscendBackend

        return AscendBackend
    raise RuntimeError(f"Unsupported device type: {device_type}")


def width(device: torch.device):
    if device.type == "cuda":
        return 32
    elif device.type == "somebodys":
        return 64
    return 1
