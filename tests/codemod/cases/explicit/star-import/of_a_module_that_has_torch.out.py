import os
import tdev
from .base import *
from .names import *


class Pipe:
    def __init__(self, gpu):
        self.gpu = gpu and tdev.cuda.is_available()
        self.device = tdev.device("cuda" if self.gpu else "cpu")

    def clear(self):
        tdev.cuda.empty_cache()
        return os.getpid()
