import torch

def f(device, kind, path):
    a = device.type == "cpu"
    b = device.type != "mps"
    c = kind == "cudann"
    d = path.startswith("/cuda")
    e = "cuda_runs" in path
    return torch.ones(1)
