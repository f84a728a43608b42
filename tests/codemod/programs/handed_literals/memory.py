from typing import Union

import torch


class Memory:
    def __init__(self, size: int, device: Union[str, torch.device] = "cpu"):
        self.rows = torch.zeros(size, 1, device=device)
        self.used = 0
        self.device = device

    def add(self, row):
        self.rows[self.used] = row
        self.used += 1

    def mean(self):
        picked = torch.arange(self.used, device=self.device)
        return self.rows[picked].mean().item()

    def __len__(self):
        return self.used
