import torch

if hasattr(torch.cuda.device_count, "cache_clear"):
    torch.cuda.device_count.cache_clear()
name = getattr(torch.accelerator.synchronize, "__name__", "")
torch.accelerator.synchronize()
print(torch.cuda.device_count(), name)
