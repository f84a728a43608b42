import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden, device):
        super().__init__()
        self.register_buffer("positions", torch.arange(hidden, device=device) / hidden)
        self.weight = nn.Parameter(torch.full((hidden, 1), 0.5, device=device))
        self.head = nn.Linear(1, 1, device=device)
        nn.init.constant_(self.head.weight, 0.25)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return self.head((x + self.positions) @ self.weight)


def build_model(config, device):
    return Net(config.hidden, device)
