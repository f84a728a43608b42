import torch


def chosen(device):
    if device.type != "cuda" or not torch.cuda.is_available() or torch.version.hip is not None:
        return fallback
    capability = torch.cuda.get_device_capability(device)
    return load_sm90() if capability == (9, 0) else fallback


def plain(device):
    if not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(device)
