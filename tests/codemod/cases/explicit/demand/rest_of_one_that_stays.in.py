import torch


def probe(device, x):
    if device.type != "cuda":
        raise RuntimeError("probing needs CUDA graphs")
    torch.cuda.empty_cache()
    return _step(x)


def _step(x):
    with torch.autocast("cuda"):
        return x * 2


def listed(device):
    if device.type == "cuda" and not (torch.cuda.is_available() and torch.cuda.device_count() > 0):
        print(f"{device} is not available, using the CPU instead.")
        device = torch.device("cpu")
    return torch.zeros(3, device=device)
