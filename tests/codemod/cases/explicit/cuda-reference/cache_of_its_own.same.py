import os

import torch


def features(path, rows):
    if os.path.exists(path):
        return torch.load(path, weights_only=False)
    found = [len(row) for row in rows]
    torch.save(found, path)
    return found
