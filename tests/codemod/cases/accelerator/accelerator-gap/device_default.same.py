import torch


class Loader:
    def __init__(self, source, device: torch.device = torch.device("cuda")):
        self.device = device
