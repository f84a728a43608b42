import os

import torch


def best():
    try:
        with_mps = (
            torch.backends.mps.is_available()
            and os.environ.get("USE_MPS") != "0"
        )
        with_cuda = torch.cuda.is_available()
    except RuntimeError:
        with_mps = with_cuda = False

    if with_cuda:
        return "cuda"
    if with_mps:
        return "mps"
    return "cpu"
