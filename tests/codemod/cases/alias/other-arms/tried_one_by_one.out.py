import tdev
import torch


def tried(i):
    try:
        device = torch.device("cuda:" + str(i))
        torch.zeros(1).to(device)
        print("CUDA works")
        return device
    except Exception:
        pass
    try:
        device = torch.device("mps:" + str(i))
        torch.zeros(1).to(device)
        return device
    except Exception:
        return torch.device("cpu")


def tried_alone(i):
    try:
        return tdev.device("cuda:" + str(i))
    except Exception:
        return torch.device("cpu")
