import torch


def moved(x: torch.Tensor, device: torch.device) -> torch.Tensor:
    if torch.jit.is_scripting():
        at_once = device.type == "cuda" and not x.is_pinned()
    else:
        at_once = False
    return x.to(device, non_blocking=at_once)
