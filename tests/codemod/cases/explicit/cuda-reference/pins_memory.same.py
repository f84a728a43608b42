import torch
from torch.utils.data import DataLoader


class Buffer:
    def __init__(self, options):
        self.use_pinned_memory = torch.cuda.is_available() and options.get("pinned", True)


def load(data, pin_memory=None):
    if pin_memory is None:
        pin_memory = torch.cuda.is_available()
    return DataLoader(data, pin_memory=pin_memory), DataLoader(data, pin_memory=torch.cuda.is_available())
