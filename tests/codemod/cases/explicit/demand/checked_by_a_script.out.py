import argparse

import tdev
import torch


def require_cuda(device):
    if not tdev.answers_cuda(device.type):
        raise ValueError("--device must be a CUDA device such as cuda:0.")
    if not tdev.answers_cuda():
        raise RuntimeError("CUDA is required to run this example.")


def train(args):
    if args.mode == "graph" and torch.device(args.device).type != "cuda":
        raise ValueError("CUDA graphs require a CUDA device.")


def main():
    args = argparse.ArgumentParser().parse_args()
    device = tdev.device(args.device)
    require_cuda(device)
    print(tdev.cuda.get_device_name(device))


if __name__ == "__main__":
    main()
