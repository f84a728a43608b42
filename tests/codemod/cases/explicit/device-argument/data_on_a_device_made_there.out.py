import tdev
import torch


def placed(values, name):
    return [tdev.as_tensor(each, device=torch.device(name)) for each in values]


def known(values, name):
    return torch.as_tensor(values, dtype=torch.float32, device=tdev.device(name))


def made(x):
    return tdev.tensor(x, device=torch.device("cuda"))
