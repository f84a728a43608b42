import torch


def chosen(allow_mps):
    if allow_mps and torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def dtype(device: torch.device):
    can = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if can else torch.float32
