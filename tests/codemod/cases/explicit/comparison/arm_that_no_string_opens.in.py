import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def load(path):
    if device == "cuda":
        state = torch.load(path)
    else:
        state = torch.load(path, map_location="cpu")
    return state


def more(path):
    return torch.load(path)
