# ruff: noqa
import torch
from torch.profiler import ProfilerActivity, profile

start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
stream = torch.cuda.Stream()
with torch.cuda.stream(stream), profile(activities=[ProfilerActivity.CUDA]) as prof:
    start.record()
    end.record(stream)
elapsed: str = start.elapsed_time(end)
print(prof.key_averages().table(sort_by="cuda_time_total"), torch.cuda.memory_allocated() / 2**20)
reveal_type(torch.cuda.memory_stats())
reveal_type(stream)
torch.cuda.max_memory_allocated(device=[])
