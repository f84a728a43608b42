import logging

import torch


def main():
    if not torch.cuda.is_available():
        print("torch.cuda.is_available() returned False")
        return
    x = torch.zeros(3).cuda()
    return x


def choose():
    if torch.cuda.is_available():
        device = torch.device("cuda")
    else:
        logging.warning("CUDA not found: this will be slow")
        device = torch.device("cpu")
    print("Is CUDA there?", torch.cuda.is_available())
    return device
