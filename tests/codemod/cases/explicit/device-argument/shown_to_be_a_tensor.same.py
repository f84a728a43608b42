import torch
from torch import Tensor


def nan_indices(*tensors: Tensor):
    sentinel = tensors[0]
    return torch.zeros(len(sentinel), dtype=torch.bool, device=sentinel.device)


def count(found: Tensor, wanted: Tensor, each: bool):
    correct = (found == wanted).sum(1)
    correct = correct if each else correct.sum()
    return correct, torch.tensor(1, device=correct.device)


def reverse(interaction):
    sequence = interaction["sequence"]
    device = sequence.device
    rows = [row[::-1] for row in sequence.cpu().numpy().tolist()]
    return torch.tensor(rows, device=device)


def errors(given, tests):
    device = next(part.device for part in given if isinstance(part, torch.Tensor))
    return {test: torch.full((3,), 0.0, device=device) for test in tests}


def as_parameter(sigma):
    return torch.as_tensor(sigma, device=sigma.device if isinstance(sigma, Tensor) else None)


def interleave(covariance, rows):
    at = torch.arange(rows, device=covariance.device)
    return covariance[..., at, at]
