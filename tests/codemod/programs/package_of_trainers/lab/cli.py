import argparse

import torch

from . import Trainer
from .utils import pick_device


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, default=None)
    options = parser.parse_args(argv)
    torch.manual_seed(0)
    trainer = Trainer(pick_device(options.gpu))
    print("mean", round(trainer.run(2), 4), "rows", trainer.rows)
