import sys

import tdev as torch


def needs_tensor(x: torch.Tensor):
    if not torch.answers_cuda(x):
        raise ValueError("not on the GPU")
    if not torch.answers_cuda(x.device.type):
        raise ValueError("not on the GPU")
    return x * 2


def main(device):
    if not torch.answers_cuda():
        print("CUDA is required")
        sys.exit(1)
    assert torch.answers_cuda(), "no GPU"
    assert torch.answers_cuda(device, exact=True)
    print(needs_tensor(torch.ones(2, device=device)).sum().item())


if __name__ == "__main__":
    main("cuda")
