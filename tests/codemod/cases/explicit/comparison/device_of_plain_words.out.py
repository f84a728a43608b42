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
