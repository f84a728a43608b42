import torch

name = getattr(torch.accelerator.synchronize, "__name__", "")
torch.accelerator.synchronize()
