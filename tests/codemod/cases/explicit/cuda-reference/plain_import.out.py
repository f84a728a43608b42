import tdev
import torch

x = torch.ones(2)
tdev.cuda.synchronize()
print(tdev.cuda.memory_allocated() >= 0)
