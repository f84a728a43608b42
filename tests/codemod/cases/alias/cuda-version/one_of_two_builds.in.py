import torch


def toolkit():
    if torch.version.cuda is None:
        return "ROCm " + torch.version.hip
    return "CUDA " + torch.version.cuda


def short():
    return torch.version.hip[:3] if torch.version.cuda is None else torch.version.cuda[:3]


def kept():
    nvidia = torch.version.cuda is not None
    return torch.version.cuda if nvidia else torch.version.hip.split("-")[0]


print(toolkit(), short(), kept())
