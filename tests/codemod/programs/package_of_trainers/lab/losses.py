import torch


def smooth(x, device):
    weight = torch.tensor([0.25, 0.75], device=device)
    mask = torch.triu(torch.ones(2, 2, device=device))
    return (x * weight @ mask).mean()
