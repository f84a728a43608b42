import tdev
import torch


def deterministic(x: torch.Tensor, device: torch.device) -> bool:
    slow = (
        torch.is_deterministic_algorithms_warn_only_enabled()
        and tdev.is_accelerator(x)
        and x.is_floating_point()
    )
    # is slower there
    if tdev.is_accelerator(device.type) and torch.is_deterministic_algorithms_warn_only_enabled():
        return False
    where = tdev.is_accelerator(device.type)  # the line fits
    return slow and where
