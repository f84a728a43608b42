import functools
from functools import partial

import tdev
import torch

zeros = functools.partial(tdev.zeros, device="cuda")
ones = partial(torch.ones, dtype=torch.float16)
