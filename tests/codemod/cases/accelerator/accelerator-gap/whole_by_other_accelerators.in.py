import torch


def place(model):
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


def has_others():
    return torch.backends.mps.is_available()
