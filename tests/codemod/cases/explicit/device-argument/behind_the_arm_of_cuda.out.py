import tdev
import torch


def place(kind):
    if kind == "auto":
        found = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
    elif kind.startswith("cuda"):
        found = tdev.device(kind)
    else:
        found = torch.device(kind)
    return found


def other(kind, default):
    if "cuda" in kind:
        return tdev.zeros(3, device=kind)
    else:
        kind = default
        return tdev.zeros(3, device=kind)


def one_word(kind):
    if kind == "cuda":
        return tdev.device(kind)
    else:
        return tdev.device(kind)
