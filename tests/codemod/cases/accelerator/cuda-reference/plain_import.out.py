import torch

x = torch.ones(2)
torch.accelerator.synchronize()
print(torch.accelerator.memory_allocated() >= 0)
