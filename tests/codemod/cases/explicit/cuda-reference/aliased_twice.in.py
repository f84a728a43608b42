import torch as th
import torch

th.cuda.synchronize()
torch.cuda.synchronize()
y = th.ones(1) + torch.ones(1)
