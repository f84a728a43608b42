import argparse

import torch


def chosen():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def sums(values):
    device = chosen()
    parts = [each + 1 for each in values]

    return torch.tensor(parts, dtype=torch.float64, device=device)


def other():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def counts(values):
    where = other()
    return torch.tensor(values, device=where)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--name")
    args = parser.parse_args()
    place = torch.device(args.run_device)
    print(args.name)

    print(torch.zeros(3, dtype=torch.float64, device=place))
