import tdev
import torch


class Agent:
    def __init__(self, device):
        self.device = device
        self.buffer = tdev.zeros(3, device=self.device)


class Net(torch.nn.Module):
    def make(self):
        return torch.zeros(3, device=self.device)


class Fixed:
    def __init__(self):
        self.device = tdev.device("cuda")

    def make(self):
        return torch.zeros(3, device=self.device)
