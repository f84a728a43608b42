import torch

s = torch.cuda.Stream()
start = torch.cuda.Event(enable_timing=True)
with torch.cuda.stream(s):
    start.record()
    y = torch.ones(1) * 2
torch.cuda.current_stream().wait_stream(s)
