import torch


def _cuda_bf16_supported(devices):
    if not torch.cuda.is_available():
        return False
    return native(devices) or torch.cuda.is_bf16_supported()
