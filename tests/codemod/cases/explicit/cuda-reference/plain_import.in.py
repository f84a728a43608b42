import torch

x = torch.ones(2)
torch.cuda.synchronize()
print(torch.cuda.memory_allocated() >= 0)
