import torch

def f(x: torch.Tensor, model):
    y = torch.randn(3)
    if x.is_cuda and not y.is_cuda:
        return next(model.parameters()).is_cuda
    return x.to(torch.float32).is_cuda
