import torch

def f(path, key, options):
    if "cuda" in path:
        return 1
    if options == {"cuda": 1}:
        return 2
    if key in ("a", "b"):
        return 3
    return torch.ones(1)
