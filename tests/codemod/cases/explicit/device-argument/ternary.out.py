import tdev
import torch

device = "cuda" if tdev.cuda.is_available() else "cpu"
other = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
x = tdev.zeros(3, device=device)
y = torch.zeros(3, device=other)
