import torch
from package import TORCH_VERSION, digit_version

if TORCH_VERSION != "parrots" and digit_version(TORCH_VERSION) < digit_version("1.7.0"):

    def load_url(path, map_location="cuda"):
        return torch.load(path, map_location=map_location)


def compiled(function):
    if not hasattr(torch, "compile"):
        return torch.jit.script(function)
    return torch.compile(function)


def load(path, map_location="cuda"):
    return torch.load(path, map_location=map_location)
