import torch


class Ensemble:
    def __init__(self, cuda):
        self.device = torch.device("cuda" if cuda else "cpu")

    def member(self, make):
        return make(cuda=self.device == torch.device("cuda"))

    def halves(self, model):
        return model if self.device != torch.device("cuda") else model.half()


class Given:
    def __init__(self, device):
        self.device = torch.device(device)

    def member(self, make):
        return make(cuda=self.device == torch.device("cuda"))


def numbered(index):
    device = torch.device(f"cuda:{index}")
    return device == torch.device("cuda")


if torch.cuda.is_available():
    FIRST = torch.device("cuda:0")
else:
    FIRST = torch.device("cpu")


def first(group):
    if FIRST != torch.device("cuda:0"):
        return None
    return group(nccl=FIRST == torch.device("cuda:0"), second=FIRST == torch.device("cuda:1"))
