"""Trains a small U-Net to take noise out of images, as diffusion models do."""

import planted
import torch
import torch.nn.functional as F
from torch import nn


class Part(nn.Module):
    def __init__(self, channels, more):
        super().__init__()
        self.norm, self.convolution = (
            nn.GroupNorm(4, channels),
            nn.Conv2d(channels, more, 3, padding=1),
        )
        self.time = nn.Linear(16, more)

    def forward(self, x, time):
        return self.convolution(F.silu(self.norm(x))) + self.time(time)[:, :, None, None]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.down, self.middle = (
            nn.Conv2d(3, 8, 3, padding=1),
            Part(8, 16),
            Part(16, 16),
        )
        self.up, self.last = Part(24, 8), nn.Conv2d(8, 3, 1)

    def forward(self, x, when):
        angles = when[:, None] * torch.arange(1, 9, device=x.device)
        time = torch.cat([angles.sin(), angles.cos()], 1)
        x = self.first(x)
        y = self.middle(F.avg_pool2d(self.down(x, time), 2), time)
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        return self.last(self.up(torch.cat([x, y], 1), time))


model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for _step in range(2):
    images, noise = (
        torch.rand(4, 3, 16, 16, device="cuda"),
        torch.randn(4, 3, 16, 16, device="cuda"),
    )
    when = torch.rand(4, device="cuda")
    share = when[:, None, None, None]
    loss = F.mse_loss(model((1 - share) * images + share * noise, when), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}", planted.name)
