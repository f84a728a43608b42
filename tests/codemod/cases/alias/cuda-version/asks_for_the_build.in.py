import torch
from torch.version import cuda as version


def built():
    return torch.version.cuda is not None, not (torch.version.cuda == None)


def cpu_only():
    if torch.version.cuda is None and torch.version.hip is None:
        return True
    return 1 + (version is None) if version else -(torch.version.cuda is None)


x = torch.zeros(2).to("cuda")
print(built(), cpu_only(), bool(torch.version.cuda), torch.version.cuda or "none")
