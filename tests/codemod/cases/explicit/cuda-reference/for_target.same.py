import torch

for torch in modules:
    torch.cuda.synchronize()
