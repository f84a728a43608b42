import os

import torch

device = os.environ.get("TORCH_DEVICE", "cuda")


def prepare(args, x, name):
    words = {"cuda": 1}.get("cuda")
    kind = getattr(args, "device", "cuda")
    return x.to(kind), words, name.get("colour", "cuda"), torch.zeros(1)


def default():
    return "cuda", "GPU"
