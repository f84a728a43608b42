import torch


def returned(I, D):
    own = torch.arange(len(I), device=I.device)
    return I == own.unsqueeze(1), D


def shifted(cell, pbc):
    reciprocal = cell.inverse()
    return torch.arange(3, device=cell.device), reciprocal


def updated(idx_m, updates, count):
    needed = torch.zeros(count, device=idx_m.device)
    return needed.index_add(0, idx_m, updates)


def masked(keep, other, count):
    return torch.where(other > 0, keep, 0), torch.ones(count, device=keep.device)


def scaled(radii, count):
    return radii / 2, torch.ones(count, device=radii.device)
