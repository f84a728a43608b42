import torch


def corrupt(heads, n):
    mask = torch.bernoulli(torch.ones(n, device=heads.device) / 2).double()
    return mask.double(), torch.randint(1, n, (n,), device="cuda")


def fetched(x):
    return x.to("cuda").sum().cpu().double()


def table(x):
    return x.double()
