import torch


def spelled(device):
    if device is None:
        return None
    try:
        return str(torch.device(device))
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"no device: {device!r}") from error


def _devices_cache_key(devices):
    return tuple(str(torch.device(each)) for each in devices)


def normalize_device(device):
    name = str(torch.device(device))
    return name.lower()


def move(model, device):
    return model.to(str(torch.device(device)))
