import torch


def deterministic(x: torch.Tensor, device: torch.device) -> bool:
    slow = torch.is_deterministic_algorithms_warn_only_enabled() and x.is_cuda and x.is_floating_point()
    if device.type == "cuda" and torch.is_deterministic_algorithms_warn_only_enabled():  # is slower there
        return False
    where = device.type == "cuda"  # the line fits
    return slow and where
