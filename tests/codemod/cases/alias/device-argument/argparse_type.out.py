import argparse

import tdev as torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", type=torch.device, default="cuda")
x = torch.ones(3)
