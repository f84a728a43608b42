import tdev
import torch

if tdev.cuda.is_available():
    device = "cuda:0"
    tdev.cuda.set_device(0)
else:
    device = "cpu"
x = torch.ones(3)
