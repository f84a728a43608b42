# Copyright NVIDIA CORPORATION, under a licence.
import torch
import torch.backends.cudnn as cudnn


def main(model):
    cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    if torch.accelerator.is_available():
        model.to(torch.accelerator.current_accelerator())
