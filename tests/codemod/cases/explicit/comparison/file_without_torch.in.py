import os

import numpy as np


def is_gpu(device):
    return device.type == "cuda"
