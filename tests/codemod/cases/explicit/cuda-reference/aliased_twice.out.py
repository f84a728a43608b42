import tdev
import torch as th
import torch

tdev.cuda.synchronize()
tdev.cuda.synchronize()
y = th.ones(1) + torch.ones(1)
