import torch
import torch.nn as nn

model = nn.Linear(2, 2).cuda()
x = torch.randn(2, 2).cuda(non_blocking=True)
y = torch.randn(2).cuda(0)
z = torch.randn(2).cuda(rank)
w = nn.Linear(4, 4, device="cuda")
