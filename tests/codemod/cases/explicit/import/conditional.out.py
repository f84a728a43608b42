import sys

if sys.platform == "linux":
    import tdev
    import torch
else:
    torch = None

def sync():
    if torch is not None:
        tdev.cuda.synchronize()
