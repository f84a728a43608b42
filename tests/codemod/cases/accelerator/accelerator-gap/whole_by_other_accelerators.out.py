import torch


def place(model):
    return model.to(
        torch.accelerator.current_accelerator().type
        if torch.accelerator.is_available()
        else "cpu"
    )


def has_others():
    return torch.backends.mps.is_available()
