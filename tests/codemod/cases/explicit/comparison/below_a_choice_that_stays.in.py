import torch
from segment_anything import SamAutomaticMaskGenerator


def generator(model, device=None):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda":
            torch.cuda.empty_cache()
    return SamAutomaticMaskGenerator(model.to(device))


def loaded(path, device):
    if device == "cuda":
        torch.cuda.empty_cache()
    return torch.load(path)
