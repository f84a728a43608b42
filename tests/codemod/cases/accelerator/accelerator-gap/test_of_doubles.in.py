import torch


def test_moves(kernel):
    kernel.to(dtype=torch.float64)
    if torch.cuda.is_available():
        kernel.to(device="cuda")


def test_floats(kernel):
    if torch.cuda.is_available():
        kernel.to(device="cuda")
