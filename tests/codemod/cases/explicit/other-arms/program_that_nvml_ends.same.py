import argparse

import nvidia_smi
import torch

from models import Model


def measure(model):
    nvidia_smi.nvmlInit()
    handle = nvidia_smi.nvmlDeviceGetHandleByIndex(0)
    model(torch.zeros(1, 3, 8, 8))
    torch.cuda.synchronize()
    print(nvidia_smi.nvmlDeviceGetMemoryInfo(handle).used)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


if __name__ == "__main__":
    args = parse()
    device = torch.device(args.device)
    model = Model(device=device)
    measure(model)
