import tdev as torch
from tdev.version import cuda as version


def built():
    return bool(torch.version.cuda), not (not torch.version.cuda)


def cpu_only():
    if not torch.version.cuda and torch.version.hip is None:
        return True
    return 1 + (not version) if version else -(not torch.version.cuda)


x = torch.zeros(2).to("cuda")
print(built(), cpu_only(), bool(torch.version.cuda), torch.version.cuda or "none")
