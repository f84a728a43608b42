import tdev
import torch

if hasattr(torch.cuda.device_count, "cache_clear"):
    torch.cuda.device_count.cache_clear()
print(tdev.cuda.device_count())
