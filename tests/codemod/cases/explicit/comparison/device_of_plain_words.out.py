import tdev
import torch


class Ensemble:
    def __init__(self, cuda):
        self.device = tdev.device("cuda" if cuda else "cpu")

    def member(self, make):
        return make(cuda=tdev.is_accelerator(self.device))

    def halves(self, model):
        return model if not tdev.is_accelerator(self.device) else model.half()


class Given:
    def __init__(self, device):
        self.device = tdev.device(device)

    def member(self, make):
        return make(cuda=self.device == torch.device("cuda"))


def numbered(index):
    device = tdev.device(f"cuda:{index}")
    return device == torch.device("cuda")


if tdev.cuda.is_available():
    FIRST = tdev.device("cuda:0")
else:
    FIRST = torch.device("cpu")


def first(group):
    if not tdev.is_accelerator(FIRST):
        return None
    return group(nccl=tdev.is_accelerator(FIRST), second=FIRST == torch.device("cuda:1"))
