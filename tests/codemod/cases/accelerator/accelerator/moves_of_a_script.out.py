import torch
import torch.nn as nn

device = torch.accelerator.current_accelerator()
model = nn.Linear(2, 2).to(device)
x = torch.randn(2, 2).to(device, non_blocking=True)
y = torch.randn(2).to(0)
z = x.to(device, non_blocking=True)
w = x.new_zeros(3, device=device)
v = torch.zeros(3, 4, device=device)
u = torch.zeros(2, device=device)
