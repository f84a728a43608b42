import torch

def f(device, n):
    a = n + (device.type != "cuda")
    b = not device.type == "cuda"
    c = not (device.type != "cuda")
    d = [device.type != "cuda", n]
    e = (
        device.type
        == "cuda"
    )
    return torch.ones(1) if device.type != "cuda" else None
