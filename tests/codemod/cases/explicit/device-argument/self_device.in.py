import torch


class Agent:
    def __init__(self, device):
        self.device = device
        self.buffer = torch.zeros(3, device=self.device)


class Net(torch.nn.Module):
    def make(self):
        return torch.zeros(3, device=self.device)


class Fixed:
    def __init__(self):
        self.device = torch.device("cuda")

    def make(self):
        return torch.zeros(3, device=self.device)
