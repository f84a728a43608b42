import torch


def too_new(device):
    if device.type != "cuda":
        return False
    cp, has_cp = optional_import("cupy")
    return torch.cuda.get_device_properties(device).major > cp.cuda.newest()
