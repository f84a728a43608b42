import platform

import torch

if torch.backends.mps.is_available():
    device = "mps"
else:
    device = "cuda" if torch.cuda.is_available() else "cpu"


def chosen(gpu):
    if gpu:
        if platform.machine() == "arm64":
            if torch.backends.mps.is_available():
                name = "mps"
            else:
                name = "cpu"
        else:
            name = "cuda" if torch.cuda.is_available() else "cpu"
    else:
        name = "cpu"
    return name
