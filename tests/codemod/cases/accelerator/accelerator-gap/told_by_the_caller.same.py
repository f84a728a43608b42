import torch


def masked(x, device=None):
    mask = torch.ones(3).cuda()
    return torch.zeros(3, device=device) + mask + x
