import torch
from torch.utils.data import DataLoader


def loader(data, device: torch.device, x: torch.Tensor, **kwargs):
    kwargs["pin_memory"] = kwargs.get("pin_memory", "cuda" in device.type)
    options = {"pin_memory": device.type.startswith("cuda") and len(data) > 1}
    pin_memory = device.type != "cpu" and device.type == "cuda"
    first = DataLoader(data, pin_memory=device.type == "cuda", **options)
    return first, DataLoader(data, pin_memory=x.is_cuda), pin_memory
