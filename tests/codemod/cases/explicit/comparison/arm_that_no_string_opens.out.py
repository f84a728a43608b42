import tdev
import torch

device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")


def load(path):
    if device == "cuda":
        state = torch.load(path)
    else:
        state = torch.load(path, map_location="cpu")
    return state


def more(path):
    return tdev.load(path)
