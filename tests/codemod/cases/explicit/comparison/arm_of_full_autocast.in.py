import torch


def full(device_type):
    if device_type == "cpu":
        return torch.amp.autocast(device_type, enabled=False)
    elif device_type == "cuda":
        return torch.amp.autocast(device_type, dtype=torch.float32)
    raise ValueError(device_type)


def free():
    torch.cuda.empty_cache()
