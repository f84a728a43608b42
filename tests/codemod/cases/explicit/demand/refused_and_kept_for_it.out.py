import tdev
import torch
import triton.language


class Trainer:
    def __init__(self, model, adaptive=False):
        if adaptive and not torch.cuda.is_available():
            raise ValueError("triton's kernels need CUDA")
        self.adaptive = triton is not None and adaptive and torch.cuda.is_available()
        self.retries = 0
        self.peak = 0

    def step(self, batch):
        if self.adaptive:
            self.check(self.retries)
        if torch.cuda.is_available():
            found = torch.cuda.memory_stats()
            self.retries = found["num_alloc_retries"]
        if tdev.cuda.is_available():
            self.peak = tdev.cuda.max_memory_allocated()
        return self.peak

    def check(self, retries):
        print(retries)
