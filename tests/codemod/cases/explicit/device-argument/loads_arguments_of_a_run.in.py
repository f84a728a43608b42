import os

import torch


def arguments(folder):
    by_name = os.path.join(folder, "training_args.bin")
    if os.path.exists(by_name):
        return torch.load(by_name)
    return torch.load(folder + os.sep + "training_args.bin"), torch.load(f"{folder}/training_args.bin")


def states(folder):
    return torch.load(os.path.join(folder, "pytorch_model.bin"))
