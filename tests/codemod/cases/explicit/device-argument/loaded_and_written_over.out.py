import os

import tdev
import torch


def cleaned(folder, names):
    shared = tdev.load(os.path.join(folder, "shared.bin"))["shared.weight"]
    for name in names:
        weight = tdev.load(os.path.join(folder, name))
        weight["shared.weight"] = shared
        torch.save(weight, os.path.join(folder, name))
