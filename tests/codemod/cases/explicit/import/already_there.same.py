import tdev
import torch

tdev.cuda.synchronize()
x = tdev.zeros(3, device="cuda")
y = torch.ones(1)
