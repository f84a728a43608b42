import tdev
import torch


def dtype(device: torch.device):
    can = tdev.is_accelerator(device.type) and tdev.cuda.is_bf16_supported()
    return torch.bfloat16 if can else torch.float32
