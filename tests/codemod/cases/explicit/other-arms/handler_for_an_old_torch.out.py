import tdev
import torch


def make(device):
    try:
        scaler = tdev.amp.GradScaler(device=device)
    except (AttributeError, TypeError):
        scaler = torch.cuda.amp.GradScaler()
    return scaler
