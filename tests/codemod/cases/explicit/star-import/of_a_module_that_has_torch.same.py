import os
from .base import *
from .names import *


class Pipe:
    def __init__(self, gpu):
        self.gpu = gpu and torch.cuda.is_available()
        self.device = torch.device("cuda" if self.gpu else "cpu")

    def clear(self):
        torch.cuda.empty_cache()
        return os.getpid()
