import torch


def load(model, device=None, device_map=None):
    device = device or (
        "cuda"
        if torch.cuda.is_available()
        else "mps"
        if torch.backends.mps.is_available()
        else "cpu"
    )
    if device_map is None and device == "cuda":
        device_map = "auto"
    return model.load(device_map=device_map, device=device)
