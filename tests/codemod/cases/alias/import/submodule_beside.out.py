import tdev as torch
import torch.distributed as dist

x = torch.zeros(3, device="cuda")
y = torch.optim.SGD([x], 0.1)
