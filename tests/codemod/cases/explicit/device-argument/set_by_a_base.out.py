import tdev
import torch


class Base:
    def __init__(self, device: str = "cpu"):
        self.device = device


class Search(Base):
    def cost(self, sizes):
        return tdev.tensor(sizes, device=self.device)


class Made:
    def __init__(self):
        self.device = tdev.device("cuda")


class Real(Made):
    def cost(self, sizes):
        return torch.tensor(sizes, device=self.device)
