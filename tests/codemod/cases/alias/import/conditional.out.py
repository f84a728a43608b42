import sys

if sys.platform == "linux":
    import tdev as torch
else:
    torch = None

def sync():
    if torch is not None:
        torch.cuda.synchronize()
