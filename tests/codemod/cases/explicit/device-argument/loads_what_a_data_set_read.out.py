import os
import pickle

import numpy as np
import tdev
import torch
from graphs import Dataset, Graph


def read(path, dtype=None, device=None):
    with open(path) as f:
        rows = [[float(x) for x in line.split(",")] for line in f]
    return torch.tensor(rows, dtype=dtype).squeeze()


class Papers(Dataset):
    def __init__(self, root):
        super().__init__(root)
        self.data = torch.load(self.processed_paths[0])

    def read_papers(self, folder):
        with open(os.path.join(folder, "papers.pkl"), "rb") as f:
            features = pickle.load(f)
        data = Graph()
        data.x = torch.from_numpy(features).to(torch.float32)
        data.y = read(os.path.join(folder, "labels.txt"), torch.long)
        data.pos = torch.from_numpy(np.zeros(len(features)))
        self.data = data

    def apply_to_device(self, device):
        self.data.x = self.data.x.to(device)

    def process(self):
        self.read_papers(self.raw_dir)
        torch.save(self.data, self.processed_paths[0])


class Embedded(Dataset):
    def __init__(self, root, encoder):
        self.encoder = encoder
        super().__init__(root)
        self.data = tdev.load(self.processed_paths[0])

    def process(self):
        torch.save(self.encoder(read(self.raw_dir)), self.processed_paths[0])


class Placed(Dataset):
    def __init__(self, root, device):
        self.device = device
        super().__init__(root)
        self.data = tdev.load(self.processed_paths[0])

    def process(self):
        torch.save(self.placed(read(self.raw_dir)), self.processed_paths[0])

    def placed(self, data):
        return data.to(self.device)
