import torch

SYNCHRONIZE = {"cuda": torch.cuda.synchronize, "xpu": torch.xpu.synchronize, "cpu": None}


def step(compiled):
    if torch.cuda.is_available() and compiled:
        torch._inductor.cudagraph_mark_step_begin()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
