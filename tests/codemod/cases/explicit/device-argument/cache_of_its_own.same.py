import os

import torch


class Neighbors(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.to(device)

    def forward(self, inputs, cache_file):
        if os.path.exists(cache_file):
            return inputs | torch.load(cache_file)
        found = self.find(inputs)
        torch.save(found, cache_file)
        return found
