import torch


def place(model, use_cuda=True):
    return model.cuda() if use_cuda else model


class Trainer:
    """Trains on one device."""

    def __init__(self, model):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
