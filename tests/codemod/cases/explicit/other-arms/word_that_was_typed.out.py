import argparse

import tdev
import torch


def synchronize(device):
    if device == "cuda":
        tdev.cuda.synchronize()
    elif device == "xpu":
        torch.xpu.synchronize()


def peak(args):
    if args.device.startswith("cuda"):
        return tdev.cuda.max_memory_allocated()
    elif args.device == "mps":
        return torch.mps.driver_allocated_memory()
    return 0


def of_a_tensor(x):
    if x.device.type == "cuda":
        torch.cuda.synchronize()
    elif x.device.type == "mps":
        torch.mps.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    x = tdev.ones(3, device=args.device)
    synchronize(args.device)
    of_a_tensor(x)
    print(peak(args))
