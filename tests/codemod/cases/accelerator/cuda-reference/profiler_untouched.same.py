import torch
from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CUDA], with_stack=True) as prof:
    torch.ones(1)
print(prof.key_averages().table(sort_by="cuda_time_total"))
