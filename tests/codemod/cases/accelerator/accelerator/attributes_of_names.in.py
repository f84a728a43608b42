import torch

name = getattr(torch.cuda.synchronize, "__name__", "")
torch.cuda.synchronize()
