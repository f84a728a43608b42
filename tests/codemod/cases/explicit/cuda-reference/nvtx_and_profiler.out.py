import tdev
import torch
from torch.profiler import ProfilerActivity, profile

tdev.cuda.nvtx.range_push("step")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
    torch.ones(1)
print("aten::ones" in prof.key_averages().table(sort_by="cuda_time_total"))
