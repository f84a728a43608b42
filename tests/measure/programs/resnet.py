"""Trains a small residual network of convolutions."""

import planted
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.convolutions = nn.ModuleList(
            [nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2)]
        )
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels) for _ in range(2)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.convolutions[0](x)))
        return F.relu(x + self.norms[1](self.convolutions[1](y)))


model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    Residual(8),
    nn.MaxPool2d(2),
    Residual(8),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 5),
).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
for _step in range(2):
    images, labels = (
        torch.randn(4, 3, 12, 12, device="cuda"),
        torch.randint(0, 5, (4,), device="cuda"),
    )
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}", planted.name)
