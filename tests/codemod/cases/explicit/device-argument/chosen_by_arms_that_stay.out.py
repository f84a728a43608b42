import tdev
import torch


def embedded(audio, sizes):
    if torch.cuda.is_available() and torch.version.cuda:
        device = "cuda"
    else:
        device = "cpu"
    return torch.tensor(audio, device=device), torch.ones(sizes, device=device)


def of_a_word(audio, word):
    if torch.cuda.is_available() and torch.version.cuda:
        device = "cuda"
    else:
        device = word
    return tdev.tensor(audio, device=device)


def always(audio, fast):
    device = "cpu"
    if fast:
        device = "cuda"
    return tdev.tensor(audio, device=device)
