import torch


def place(model, use_cuda=True):
    device = torch.accelerator.current_accelerator()
    return model.to(device) if use_cuda else model


class Trainer:
    """Trains on one device."""

    def __init__(self, model):
        self.device = torch.device(
            torch.accelerator.current_accelerator().type
            if torch.accelerator.is_available()
            else "cpu"
        )
        self.model = model.to(self.device)
