import torch


def place(model):
    # CUDA where there is one
    if torch.accelerator.is_available():
        model.to(torch.accelerator.current_accelerator())
    return model
