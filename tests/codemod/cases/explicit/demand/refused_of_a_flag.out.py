import tdev
import torch
import triton.language


class Trainer:
    def __init__(self, model, adaptive=False):
        self.adaptive = adaptive
        self.state = model.state
        check(self.state)

    def step(self, batch):
        full = 0
        if self.state.adaptive:
            full = 1
        if full == 1:
            _shrink(batch)
        if full != 1:
            tdev.cuda.synchronize()
        if self.state.shrinks:
            tdev.cuda.synchronize()


def check(state):
    adaptive = state.adaptive
    if adaptive and not torch.cuda.is_available():
        raise ValueError("triton's kernels need CUDA")
    if state.shrinks and state.adaptive and not torch.cuda.is_available():
        raise ValueError("triton's kernels need CUDA")


def _shrink(batch):
    tdev.cuda.empty_cache()
