import tdev
import torch


def major():
    if torch.version.cuda is None:
        return None
    return int(tdev.version.cuda.split(".")[0])


def tried():
    try:
        return int(tdev.version.cuda.split(".")[0])
    except (AttributeError, ValueError):
        return 0


def told():
    return f"{tdev.version.cuda}, {str(tdev.version.cuda)}"


def kept():
    return torch.version.cuda.split(".")  # tdev: keep


print(major(), tried(), told())
