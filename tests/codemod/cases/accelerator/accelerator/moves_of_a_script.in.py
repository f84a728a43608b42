import torch
import torch.nn as nn

model = nn.Linear(2, 2).cuda()
x = torch.randn(2, 2).cuda(non_blocking=True)
y = torch.randn(2).cuda(0)
z = x.to("cuda", non_blocking=True)
w = x.new_zeros(3, device="cuda")
v = torch.zeros(3, 4, device="cuda")
u = torch.zeros(2, device=torch.device("cuda"))
