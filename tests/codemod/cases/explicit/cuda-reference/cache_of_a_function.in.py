import torch

if hasattr(torch.cuda.device_count, "cache_clear"):
    torch.cuda.device_count.cache_clear()
print(torch.cuda.device_count())
