import torch


def placed(values, name):
    return [torch.as_tensor(each, device=torch.device(name)) for each in values]


def known(values, name):
    return torch.as_tensor(values, dtype=torch.float32, device=torch.device(name))


def made(x):
    return torch.tensor(x, device=torch.device("cuda"))
