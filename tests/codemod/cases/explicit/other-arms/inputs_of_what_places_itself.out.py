import tdev
import torch
from encoders import load
from torch import nn

from .own import build


class Encoder:
    def __init__(self, name):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        model, _ = load(name)
        self.encode = model.encode_image

    def __call__(self, x):
        return self.encode(x.to(self.device)).cpu()


class Told:
    def __init__(self, name):
        self.device = "cuda" if tdev.cuda.is_available() else "cpu"
        self.model = load(name, device=self.device)

    def __call__(self, x):
        return self.model(x.to(self.device))


class Own:
    def __init__(self, name):
        self.device = "cuda" if tdev.cuda.is_available() else "cpu"
        self.model = build(name)

    def __call__(self, x):
        return self.model(x.to(self.device))


class Placed:
    def __init__(self, name):
        self.device = "cuda" if tdev.cuda.is_available() else "cpu"
        self.model = load(name)
        self.model.to(self.device)

    def __call__(self, x):
        return self.model(x.to(self.device))


def once(name, x):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load(name)
    return model(x.to(device))


def head(x):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    return nn.Linear(3, 3)(x.to(device))
