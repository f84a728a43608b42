import tdev
import torch

from .loaders import Loader


class Evaluator:
    def __init__(self, model):
        self.model = model
        self.is_cuda = tdev.is_accelerator(next(self.model.parameters()))

    def scores(self, table):
        if self.is_cuda:
            return Loader(table, use_cuda="batch")
        return Loader(table)


class Table:
    def scores(self, table):
        return Loader(table, use_cuda=self.is_cuda), torch.zeros(2)
