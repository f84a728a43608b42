"""The facts of this machine, for who reports a fault."""

import torch


def facts():
    cuda_available = "N/A"
    cuda_version = "N/A"
    model = "N/A"
    cuda_available = torch.cuda.is_available()
    if cuda_available:
        cuda_version = str(torch.version.cuda)
        model = torch.cuda.get_device_name(0)
    return {
        "Is there support for CUDA?": str(cuda_available),
        "CUDA version": cuda_version,
        "Model of the GPU": model,
    }
