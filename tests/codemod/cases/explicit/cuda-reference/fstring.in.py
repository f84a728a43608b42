import torch

print(f"{torch.cuda.memory_allocated() / 1e9:.1f} GB on torch.cuda")
print(f"{torch.ones(1)}")
