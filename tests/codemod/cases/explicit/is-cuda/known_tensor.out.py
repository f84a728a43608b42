import tdev
import torch

def f(x: torch.Tensor, model):
    y = torch.randn(3)
    if tdev.is_accelerator(x) and not tdev.is_accelerator(y):
        return tdev.is_accelerator(next(model.parameters()))
    return tdev.is_accelerator(x.to(torch.float32))
