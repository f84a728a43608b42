import tdev
import torch

if torch.backends.mps.is_available():
    device = torch.device("mps")
else:
    device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
    print("no MPS")


def told(verbose):
    if verbose:
        print(torch.backends.mps.is_available())
        name = "cpu"
    else:
        name = "cuda" if tdev.cuda.is_available() else "cpu"
    return name
