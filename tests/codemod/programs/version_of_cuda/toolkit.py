"""Its only CUDA is the version."""

import torch
from torch.version import cuda as version

TOOLKIT = "CUDA " + torch.version.cuda if version is not None else "no toolkit"


def major():
    return int(torch.version.cuda.split(".")[0])


def minor():
    return tuple(map(int, version.split(".")))[1]
