import torch


def make(device):
    try:
        scaler = torch.amp.GradScaler(device=device)
    except (AttributeError, TypeError):
        scaler = torch.cuda.amp.GradScaler()
    return scaler
