import tdev as torch

def f(x, device):
    if torch.is_accelerator(x.device.type):
        return 1
    if torch.is_accelerator(device.type):
        return 2
    if not torch.is_accelerator(device.type) and x is not None:
        return 3
    return torch.ones(1)
