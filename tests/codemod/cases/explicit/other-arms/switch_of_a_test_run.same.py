import package
import torch

if not package._TEXT_AVAILABLE or not torch.cuda.is_available():
    __doctest_skip__ = ["Data"]


class Data:
    def __init__(self, batch_size, pretrained):
        if package._IS_TESTING and torch.cuda.is_available():
            batch_size = 16
        self.batch_size = batch_size
        self.pretrained = True if (package._IS_TESTING and torch.cuda.is_available()) else pretrained
