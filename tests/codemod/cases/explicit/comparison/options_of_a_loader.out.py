import tdev
import torch


class Trainer:
    def __init__(self, device):
        self.device = device

    def loader(self, data):
        options = {"num_workers": 1, "pin_memory": True} if (self.device == "cuda") else {}
        return torch.utils.data.DataLoader(data, **options)


def loader(data):
    options = {"pin_memory": True} if torch.cuda.is_available() else {}
    settings = {"pin_memory": True, "device": "cuda"} if tdev.cuda.is_available() else {"device": "cpu"}
    return torch.utils.data.DataLoader(data, **options), settings
