import tdev
import torch

print(f"{tdev.cuda.memory_allocated() / 1e9:.1f} GB on torch.cuda")
print(f"{torch.ones(1)}")
