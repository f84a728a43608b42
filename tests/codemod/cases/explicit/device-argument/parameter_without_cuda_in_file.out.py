"""Nothing here names CUDA, but who calls these functions may hand over what a person typed."""
import tdev
import torch

def grid(n, device):
    return tdev.arange(n, device=device)

def like(x, n):
    device = x.device
    return torch.arange(n, device=device)

class Agent:
    def __init__(self, env, device: str = "auto"):
        self.device = device
        self.buffer = tdev.zeros(3, device=self.device)
        self.other = tdev.zeros(3, device=env.device)
        self.third = torch.zeros(3, device=env._execution_device)

def noise(n, config):
    return tdev.randn(n, device=config["device"])
