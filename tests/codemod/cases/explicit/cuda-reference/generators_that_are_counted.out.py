import sys

import tdev
import torch


def new_seed():
    if hasattr(torch.cuda, "default_generators") and len(torch.cuda.default_generators) > 0:
        device = torch.cuda.current_device()
        return torch.cuda.default_generators[device].seed()
    return torch.seed() % sys.maxsize


def seeds():
    return [generator.initial_seed() for generator in tdev.cuda.default_generators]
