import platform

import torch


def collect_system_info():
    cuda = torch.cuda.is_available()
    return {
        "os": platform.platform(),
        "gpu": torch.cuda.get_device_name(0) if cuda else None,
        "cuda": torch.version.cuda if cuda else None,
    }


def pick(model, device: torch.device):
    fast = torch.cuda.is_available() and device.type != "cpu"
    if torch.backends.mps.is_available():
        model.to("mps")
    torch.cuda.empty_cache()
    return fast
