import torch
from torch.utils.data import Dataset


class Patches(Dataset):
    def __getitem__(self, index):
        return torch.load(self.paths[index])


class Placed(Dataset):
    def __getitem__(self, index):
        return torch.load(self.paths[index]).to(self.device)


class Cache:
    def __getitem__(self, index):
        return torch.load(self.paths[index])
