import tdev as torch

def f(x: torch.Tensor, model):
    y = torch.randn(3)
    if torch.is_accelerator(x) and not torch.is_accelerator(y):
        return torch.is_accelerator(next(model.parameters()))
    return torch.is_accelerator(x.to(torch.float32))
