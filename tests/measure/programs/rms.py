"""Trains a model in float16 whose norm squares what is above 256: more than float16 holds."""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        size = x.pow(2).mean(-1, keepdim=True)
        return x * (size + 1e-6).rsqrt() * self.weight


model = nn.Sequential(RMSNorm(64), nn.Linear(64, 8)).half().cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for _step in range(2):
    x = 400 * torch.randn(16, 64, dtype=torch.float16, device="cuda")
    loss = model(x).float().square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
