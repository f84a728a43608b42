import torch


def key(device):
    device = torch.device(device)
    if device.type == "cuda" and device.index is None:
        return ("cuda", torch.cuda.current_device())
    return (device.type, device.index)


def device_type():
    if torch.cuda.is_available():
        return "cuda"
    return "cpu"
