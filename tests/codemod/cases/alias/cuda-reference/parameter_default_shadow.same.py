import torch

def run(cuda=False, *, torch=None, **kwargs):
    return torch.cuda.is_available()

y = torch.ones(1)
