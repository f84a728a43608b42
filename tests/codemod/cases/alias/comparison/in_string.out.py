import tdev as torch

def f(device, x):
    a = torch.is_accelerator(str(device))
    b = torch.is_accelerator(device.type)
    c = not torch.is_accelerator(str(x.device))
    return torch.ones(1)
