import tdev
import torch

x = tdev.zeros(3, 4, device="cuda")
y = tdev.arange(5, dtype=torch.long, device='cuda:1')
z = torch.ones(3)
