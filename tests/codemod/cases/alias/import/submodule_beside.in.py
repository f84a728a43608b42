import torch
import torch.distributed as dist
import torch.optim

x = torch.zeros(3, device="cuda")
y = torch.optim.SGD([x], 0.1)
