import torch


def count(has_mps):
    return torch.cuda.device_count() if torch.cuda.is_available() else 1 if has_mps else 0
