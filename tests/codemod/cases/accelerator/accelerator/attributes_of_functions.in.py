import torch

if hasattr(torch.cuda.device_count, "cache_clear"):
    torch.cuda.device_count.cache_clear()
name = getattr(torch.cuda.synchronize, "__name__", "")
torch.cuda.synchronize()
print(torch.cuda.device_count(), name)
