import torch


def place(kind):
    if kind == "auto":
        found = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    elif kind.startswith("cuda"):
        found = torch.device(kind)
    else:
        found = torch.device(kind)
    return found


def other(kind, default):
    if "cuda" in kind:
        return torch.zeros(3, device=kind)
    else:
        kind = default
        return torch.zeros(3, device=kind)


def one_word(kind):
    if kind == "cuda":
        return torch.device(kind)
    else:
        return torch.device(kind)
