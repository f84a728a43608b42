import torch

OPS = [cutlass if torch.version.cuda else ck]


def chosen(x):
    if torch.version.cuda and not x:
        return "cuda"
    return "other" if torch.version.cuda is None else "cuda"
