import argparse

import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", help="Defaults to 'cuda' if CUDA is available, else 'cpu'.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return parser.parse_args().device or device
