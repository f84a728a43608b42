import torch
import torch.nn as nn

device = torch.accelerator.current_accelerator()
model = nn.Linear(2, 2).to(device)
x = torch.randn(2, 2).to(device, non_blocking=True)
y = torch.randn(2).to(0)
z = torch.randn(2).cuda(rank)
w = nn.Linear(4, 4, device=device)
