import functools
from functools import partial

import tdev as torch

zeros = functools.partial(torch.zeros, device="cuda")
ones = partial(torch.ones, dtype=torch.float16)
