import tdev
import torch

DEV = "cuda" if tdev.cuda.is_available() else "cpu"
if tdev.is_accelerator(DEV):
    x = torch.ones(1)
