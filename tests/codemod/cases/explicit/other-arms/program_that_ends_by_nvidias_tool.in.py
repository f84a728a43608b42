import argparse
import subprocess

import torch


def report():
    subprocess.check_call(["nvidia-smi"])


def fit(device):
    return torch.ones(3, 3, device=device)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    args = parser.parse_args()
    device = torch.device("cuda")
    weights = fit(device)
    torch.save(weights + torch.eye(3, device="cuda"), args.out)
    report()
    print(torch.cuda.memory_allocated())
