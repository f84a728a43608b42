import torch

assert torch.accelerator.is_available()


def encode(text):
    return torch.tensor(text).to(torch.accelerator.current_accelerator())
