import torch

from engine import start


def initialize(arguments):
    assert torch.cuda.is_available(), "the engine requires CUDA"
    start(arguments)
    torch.cuda.synchronize()


def place():
    if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
        raise RuntimeError("quantization needs a GPU")
    return device
