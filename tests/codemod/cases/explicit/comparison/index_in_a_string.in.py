import torch

use = "cuda" if torch.cuda.is_available() else "cpu"


def load(path, device, device_type):
    if device == "cuda":
        device = f"cuda:{torch.cuda.current_device()}"
    if device != "cuda" and str(device).split(":")[0] == "cuda":
        print(device, device_type == "cuda", device not in ("cuda", "mps"))
    print(use == "cuda")
    return torch.load(path, map_location=device)
