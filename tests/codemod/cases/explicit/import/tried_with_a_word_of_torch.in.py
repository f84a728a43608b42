import math

try:
    import torch
except ImportError as error:
    raise ImportError("torch is not installed") from error


def place(name):
    return "cuda" if torch.cuda.is_available() else name
