import tdev
import torch

if tdev.cuda.is_available():
    x = torch.ones(1)
else:
    x = None
n = tdev.cuda.device_count() if tdev.cuda.is_available() else 1
