"""Nothing here names cuda in code: the file that makes the device does, and is migrated too."""
import torch

def grid(n, device):
    return torch.arange(n, device=device)  # cuda or cpu

class Agent:
    def __init__(self, device=None):
        self.device = device
        self.buffer = torch.zeros(3, device=self.device)
