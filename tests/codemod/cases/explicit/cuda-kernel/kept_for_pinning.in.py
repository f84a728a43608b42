import torch
from torch.utils.data import DataLoader


class Manager:
    def __init__(self, use_gpu=False):
        self.use_gpu = torch.cuda.is_available() and use_gpu

    def train(self, data):
        return DataLoader(data, shuffle=True, pin_memory=self.use_gpu)

    def test(self, data):
        return DataLoader(data, pin_memory=self.use_gpu)


class Engine:
    def __init__(self, net):
        self.on_gpu = torch.cuda.is_available()
        self.net = net.cuda() if self.on_gpu else net
