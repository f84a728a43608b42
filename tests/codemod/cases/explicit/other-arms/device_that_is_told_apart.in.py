import torch


def canonical(device):
    resolved = torch.device(device)
    if resolved.index is None:
        if resolved.type == "cuda":
            return f"cuda:{torch.cuda.current_device()}"
        if resolved.type == "mps":
            return "mps:0"
    return str(resolved)


def placed(device):
    resolved = torch.device(device)
    if resolved.type == "mps":
        torch.mps.empty_cache()
    return torch.zeros(3, device=resolved)
