import sys

import pytest
import torch


def test_range():
    if not torch.cuda.is_available():
        pytest.skip("CUDA is required")
    x = torch.zeros(3, device="cuda")
    torch.cuda.nvtx.range_push("a")
    return x


def test_graph():
    if not torch.cuda.is_available():
        return
    x = torch.zeros(3, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x += 1


def main():
    if torch.cuda.device_count() == 0:
        sys.exit("no GPU")
    x = torch.zeros(3).cuda()
    print(torch.cuda.get_device_capability(), x)
