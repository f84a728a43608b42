import torch


class Config:
    def __init__(self):
        self.options = {"cuda_enabled": bool(torch.cuda.is_available()), "lr": 1}

    def device(self):
        return torch.device("cuda" if self.options["cuda_enabled"] else "cpu")
