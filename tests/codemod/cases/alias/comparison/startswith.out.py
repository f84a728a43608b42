import tdev as torch

def f(device):
    if torch.is_accelerator(device):
        return torch.ones(1)
    return torch.is_accelerator(str(device))
