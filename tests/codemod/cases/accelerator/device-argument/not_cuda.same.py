import torch

def f(x, mask: torch.Tensor, where: torch.device):
    a = torch.zeros(3)
    b = torch.zeros(3, device="cpu")
    c = torch.zeros(3, device=None)
    d = torch.zeros(3, device=x.device)
    e = torch.zeros(3, device=mask.device)
    g = torch.zeros(3, device=where)
    h = torch.empty(3, device="meta")
    return torch.device("cpu"), torch.device(x.device)
