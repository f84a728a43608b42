import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])

def f(n, device="cuda"):
    return torch.zeros(n, device=device)

device = "cuda"
