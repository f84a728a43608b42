import tdev as torch

def f(device, n):
    a = n + (not torch.is_accelerator(device.type))
    b = not torch.is_accelerator(device.type)
    c = not (not torch.is_accelerator(device.type))
    d = [not torch.is_accelerator(device.type), n]
    e = (
        torch.is_accelerator(device.type)
    )
    return torch.ones(1) if not torch.is_accelerator(device.type) else None
