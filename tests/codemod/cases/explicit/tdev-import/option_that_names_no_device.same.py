import argparse

import torch


def main(train):
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile_sort", default="cuda", choices=["cpu", "cuda"])
    args = parser.parse_args()
    train(args, torch.zeros(3))
