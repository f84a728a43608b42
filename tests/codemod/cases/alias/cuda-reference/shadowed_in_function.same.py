import torch

def run(torch):
    torch.cuda.synchronize()

def local():
    torch = object()
    torch.cuda.synchronize()

y = torch.ones(3)
