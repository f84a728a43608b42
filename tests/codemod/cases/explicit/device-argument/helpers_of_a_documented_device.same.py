import torch


def ragged(lengths, device=None):
    """Make rows of these lengths.

    Parameters
    ----------
    device : torch.device
        Where they lie. If None, on the CPU.
    """
    values = torch.rand(sum(lengths), device=device)
    offsets = _offsets(lengths, device=device)
    return values, offsets, _places(offsets, device)


def make(lengths, **options):
    return ragged(lengths, **options)


def _offsets(lengths, device=None):
    return torch.arange(len(lengths), device=device)


def _places(offsets, device=None):
    return torch.cat([offsets, torch.tensor([len(offsets)], device=device)])


class Rows:
    """Rows of numbers.

    Args:
        device (torch.device): where they lie
    """

    def __init__(self, lengths, device=None):
        self.offsets = _offsets(lengths, device)
