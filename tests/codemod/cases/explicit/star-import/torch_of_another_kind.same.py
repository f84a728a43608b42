from os import *
from .base import *


def first(torch):
    return torch.cuda.is_available()


def second(modules):
    return [torch.cuda for torch in modules], "torch.cuda"
