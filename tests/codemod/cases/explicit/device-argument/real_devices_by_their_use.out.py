import tdev
import torch


def typed(n, device):
    dtype = torch.float32 if device.type == "mps" else torch.float64
    return torch.zeros(n, dtype=dtype, device=device)


def named(n, device):
    if device == "auto" or device.type == "cpu":
        print(n)
    return tdev.zeros(n, device=device)


def told(n, device):
    """Make zeros.

    Args:
        n (int): how many
        device (torch.device, optional): where
    """
    return torch.zeros(n, device=device)


def told_twice(n, device):
    """Make zeros.

    Args:
        device (torch.device or str): where
    """
    return tdev.zeros(n, device=device)


def promised(i) -> torch.device:
    return CACHE[i]


class Loader:
    def __init__(self, device=None):
        self.where: torch.device = device or torch.device("cpu")
        self.name: str = device

    def load(self, path):
        return torch.load(path, map_location=self.where), tdev.load(path, map_location=self.name)

    def _mask(self, size, device):
        return torch.full((size, size), 0.0, device=device)

    def _other(self, size, device):
        return tdev.full((size, size), 0.0, device=device)

    def forward(self, feat):
        both = self._mask(3, feat.device) + self._mask(size=4, device=feat.device)
        return both, self._other(3, feat.device), self._other(4, "cuda"), torch.zeros(2, device=promised(1))


def added(groups):
    total = torch.zeros(3)
    for imp, at in groups:
        total.scatter_add_(0, torch.tensor(at, device=imp.device), imp)
    return total


def put_together(i):
    return torch.zeros(1, device=f"mps:{i}"), torch.zeros(2, device="cpu:%d" % i), torch.device("xpu:" + str(i))
