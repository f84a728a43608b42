import sys

import torch


def needs_tensor(x: torch.Tensor):
    if not x.is_cuda:
        raise ValueError("not on the GPU")
    if x.device.type != "cuda":
        raise ValueError("not on the GPU")
    return x * 2


def main(device):
    if not torch.cuda.is_available():
        print("CUDA is required")
        sys.exit(1)
    assert torch.cuda.device_count() > 0, "no GPU"
    assert device == "cuda"
    print(needs_tensor(torch.ones(2, device=device)).sum().item())


if __name__ == "__main__":
    main("cuda")
