import argparse

import torch


def require_cuda(device):
    if device.type != "cuda":
        raise ValueError("--device must be a CUDA device such as cuda:0.")
    if not torch.cuda.is_available():
        raise RuntimeError("CUDA is required to run this example.")


def train(args):
    if args.mode == "graph" and torch.device(args.device).type != "cuda":
        raise ValueError("CUDA graphs require a CUDA device.")


def main():
    args = argparse.ArgumentParser().parse_args()
    device = torch.device(args.device)
    require_cuda(device)
    print(torch.cuda.get_device_name(device))


if __name__ == "__main__":
    main()
