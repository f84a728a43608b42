import argparse

import tdev as torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cuda or cpu")
args = parser.parse_args()
x = torch.zeros(3, device=args.device)
y = torch.zeros(3).to(args.device)
