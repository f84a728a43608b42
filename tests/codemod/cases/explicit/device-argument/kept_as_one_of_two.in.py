import torch


class Norm(torch.nn.Module):
    def __init__(self, n, device=None, dtype=None):
        super().__init__()
        self.device, self.dtype = device, dtype
        self.means = torch.zeros(n, device=device)

    def reset(self):
        self.means = torch.zeros_like(self.means, device=self.device, dtype=self.dtype)
