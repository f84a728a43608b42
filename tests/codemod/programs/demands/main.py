"""Demands CUDA before it starts, and of what it is given: tdev answers on every backend."""

import sys

import torch
from layers import Scale

assert torch.cuda.is_available(), "CUDA is required"


def main() -> int:
    if torch.cuda.device_count() == 0:
        print("no GPU")
        sys.exit(1)
    device = torch.device("cuda")
    scale = Scale(3).to(device)
    x = torch.arange(3.0, device=device)
    print("scaled", scale(x).sum().item())
    return 0


if __name__ == "__main__":
    sys.exit(main())
