import tdev
import torch

DEV = "cuda" if tdev.cuda.is_available() else "cpu"
if DEV == "cuda":
    x = torch.ones(1)
