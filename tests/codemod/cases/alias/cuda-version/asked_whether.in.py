import torch


def major():
    if torch.version.cuda is None:
        return None
    return int(torch.version.cuda.split(".")[0])


def tried():
    try:
        return int(torch.version.cuda.split(".")[0])
    except (AttributeError, ValueError):
        return 0


def told():
    return f"{torch.version.cuda}, {str(torch.version.cuda)}"


def kept():
    return torch.version.cuda.split(".")  # tdev: keep


print(major(), tried(), told())
