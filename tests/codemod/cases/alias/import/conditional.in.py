import sys

if sys.platform == "linux":
    import torch
else:
    torch = None

def sync():
    if torch is not None:
        torch.cuda.synchronize()
