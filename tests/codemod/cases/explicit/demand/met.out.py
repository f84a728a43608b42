import sys

import tdev
import torch


def needs_tensor(x: torch.Tensor):
    if not tdev.answers_cuda(x):
        raise ValueError("not on the GPU")
    if not tdev.answers_cuda(x.device.type):
        raise ValueError("not on the GPU")
    return x * 2


def main(device):
    if not tdev.answers_cuda():
        print("CUDA is required")
        sys.exit(1)
    assert tdev.answers_cuda(), "no GPU"
    assert tdev.answers_cuda(device, exact=True)
    print(needs_tensor(tdev.ones(2, device=device)).sum().item())


if __name__ == "__main__":
    main("cuda")
