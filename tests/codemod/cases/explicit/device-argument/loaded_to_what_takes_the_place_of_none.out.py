from typing import Optional

import tdev
import torch


class Given:
    def __init__(self, model, device: Optional[torch.device] = None):
        if device is None:
            if tdev.cuda.is_available():
                device = tdev.device("cuda", 0)
            else:
                device = torch.device("cpu")
        self.device = device
        self.model = model.to(device)

    def load(self, path):
        return torch.load(str(path), map_location=self.device)


class OrElse:
    def __init__(self, device: torch.device | None = None):
        self.device = device or torch.device("cpu")
        self.place = device if device is not None else torch.device("cpu")

    def load(self, path, other):
        return torch.load(path, map_location=self.device), torch.load(other, map_location=self.place)


class MayBeNone:
    def __init__(self, model, device: Optional[torch.device] = None):
        self.device = device
        self.model = model.to(device)

    def load(self, path):
        return tdev.load(path, map_location=self.device)


def load(path, device: Optional[torch.device] = None):
    place = device
    if device is None:
        device = torch.device("cpu")
    return torch.load(path, map_location=device), tdev.load(path, map_location=place)
