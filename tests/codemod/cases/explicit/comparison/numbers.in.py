import torch


def dtype(device: torch.device):
    can = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if can else torch.float32
