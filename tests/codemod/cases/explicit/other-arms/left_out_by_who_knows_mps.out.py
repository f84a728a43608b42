import tdev
import torch


def pick():
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


class Trainer:
    def __init__(self, device: torch.device):
        self.half = device.type == "cuda"
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.half)

    def step(self, x: torch.Tensor):
        if x.is_cuda:
            x = torch.compile(x.half)()
        if tdev.is_accelerator(x.device.type):
            tdev.cuda.synchronize(x.device)
            tdev.cuda.empty_cache()
        return torch.cuda.max_memory_allocated() if x.is_cuda else 0
