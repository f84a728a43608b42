import tdev
import torch

s = tdev.cuda.Stream()
start = tdev.cuda.Event(enable_timing=True)
with tdev.cuda.stream(s):
    start.record()
    y = torch.ones(1) * 2
tdev.cuda.current_stream().wait_stream(s)
