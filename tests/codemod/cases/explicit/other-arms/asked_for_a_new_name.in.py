import torch

torch_amp = getattr(torch, "amp", None)
if hasattr(torch_amp, "GradScaler"):
    from torch.amp import GradScaler
else:
    from torch.cuda.amp import GradScaler


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")


def clear(device: torch.device):
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.empty_cache()


def load(model, device=None):
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return model.to(device), GradScaler("cuda")
