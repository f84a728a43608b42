import torch

s = torch.Stream()
start = torch.Event(enable_timing=True)
with s:
    start.record()
torch.accelerator.current_stream().wait_stream(s)
