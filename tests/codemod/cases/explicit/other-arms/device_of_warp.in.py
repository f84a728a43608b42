import torch
from nvalchemiops.torch.neighbors import neighbor_list

from .flags import _OEQ_AVAILABLE

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def neighbors(positions):
    return neighbor_list(positions.to(DEVICE))


def is_available():
    return _OEQ_AVAILABLE and torch.cuda.is_available()


def free():
    torch.cuda.empty_cache()
