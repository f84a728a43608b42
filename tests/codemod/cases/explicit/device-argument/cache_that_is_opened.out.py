import os

import tdev
import torch


def load(path, files):
    if os.path.exists(path):
        return torch.load(open(path, "rb"), weights_only=True)
    found = [len(each) for each in files]
    torch.save(found, open(path, "wb"))
    return found


def other(path):
    return tdev.load(open(path, "rb"))
