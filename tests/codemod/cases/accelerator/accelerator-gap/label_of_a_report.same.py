import torch


def report(output):
    add(output, "Has CUDA", lambda: bool(torch.cuda.is_available()))
