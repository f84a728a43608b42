import tdev as torch

def f(device):
    a = torch.is_accelerator(device.type)
    b = torch.is_accelerator(device.type)
    c = not torch.is_accelerator(device.type)
    return torch.ones(1)
