import os

import tdev
import numpy as np


def is_gpu(device):
    return tdev.is_accelerator(device.type)
