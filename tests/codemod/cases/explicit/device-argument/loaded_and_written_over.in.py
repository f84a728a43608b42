import os

import torch


def cleaned(folder, names):
    shared = torch.load(os.path.join(folder, "shared.bin"))["shared.weight"]
    for name in names:
        weight = torch.load(os.path.join(folder, name))
        weight["shared.weight"] = shared
        torch.save(weight, os.path.join(folder, name))
