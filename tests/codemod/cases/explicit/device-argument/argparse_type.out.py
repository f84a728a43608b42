import argparse

import tdev
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", type=tdev.device, default="cuda")
x = torch.ones(3)
