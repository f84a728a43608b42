import torch


def devices(excluded):
    if "cuda" not in excluded and torch.cuda.is_available():
        return [torch.device(f"cuda:{i}") for i in range(torch.cuda.device_count())]
    if "mps" not in excluded and torch.backends.mps.is_available():
        return [torch.device("mps")]
    return []
