import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    y = torch.ones(1) @ torch.ones(1)
with torch.autocast(device_type="cpu"):
    pass
# not "cuda"
