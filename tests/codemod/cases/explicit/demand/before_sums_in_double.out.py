import tdev
import torch


def train_classifier(model, data):
    """Train; raises RuntimeError where a GPU is absent."""
    if not torch.cuda.is_available():
        raise RuntimeError("training requires a GPU of NVIDIA")
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    totals = torch.zeros(2, device=device, dtype=torch.float64)
    for x, y in data:
        totals[0] += model(x.to(device)).sum()
    return totals


def free():
    tdev.cuda.empty_cache()
