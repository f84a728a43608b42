import tdev as torch

def f(device):
    a = device.type in ("cuda", "xpu")
    b = torch.is_accelerator(device.type)
    c = not torch.is_accelerator(device.type)
    return torch.ones(1)
