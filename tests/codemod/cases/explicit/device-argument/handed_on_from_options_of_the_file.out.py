import tdev
import torch

tkwargs = {"dtype": torch.float32, "device": tdev.device("cuda" if tdev.cuda.is_available() else "cpu")}


def bounds(dim, **tkwargs):
    print(tkwargs["device"])
    return torch.ones(dim, **tkwargs)


bounds(3, **tkwargs)
