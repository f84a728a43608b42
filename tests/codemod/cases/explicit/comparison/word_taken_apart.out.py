import tdev
import torch


def device_of(device: str):
    if device.startswith("cuda"):
        if device == "cuda":
            device = "cuda:0"
        if not tdev.cuda.is_available():
            print("No GPU detected. Running on CPU.")
            device = "cpu"
        else:
            number = int(device[5:])
            if number < tdev.cuda.device_count():
                device = tdev.device(device)
    return device


def features(paths):
    return [torch.load(p, weights_only=True)["content"].squeeze(0).numpy() for p in paths]


def here():
    kind = torch.accelerator.current_accelerator().type
    return torch.device(kind, 0)
