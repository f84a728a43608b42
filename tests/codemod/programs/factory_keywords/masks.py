from torch import arange, ones


def causal(n, device=None):
    row = arange(n, device=device)
    return (row[:, None] >= row) & ones(n, n, device=device).bool()
