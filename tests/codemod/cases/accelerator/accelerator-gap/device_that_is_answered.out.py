import torch


def key(device):
    device = torch.device(device)
    if device.type == "cuda" and device.index is None:
        return ("cuda", torch.cuda.current_device())
    return (device.type, device.index)


def device_type():
    if torch.accelerator.is_available():
        return torch.accelerator.current_accelerator().type
    return "cpu"
