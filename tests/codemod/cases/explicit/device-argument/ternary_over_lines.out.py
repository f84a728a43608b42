import tdev
import torch

device = tdev.device(
    "cuda"  # the first one
    if tdev.cuda.is_available()
    else "cpu"
)
y = torch.zeros(3, device=device)
