import tdev
import torch

def pick():
    if tdev.cuda.is_available():
        return tdev.device("cuda")
    return torch.device("cpu")

def name():
    return "cuda"

x = torch.zeros(3, device=pick())
y = tdev.zeros(3, device=name())
