import tdev
import torch


class Norm(torch.nn.Module):
    def __init__(self, n, device=None, dtype=None):
        super().__init__()
        self.device, self.dtype = device, dtype
        self.means = tdev.zeros(n, device=device)

    def reset(self):
        self.means = tdev.zeros_like(self.means, device=self.device, dtype=self.dtype)
