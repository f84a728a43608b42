import torch

def f(backend, name, items, device):
    a = backend == "cuda"
    b = "cuda" in name
    c = device == "cuda:0"
    d = device.type in ("cuda", "cpu")
