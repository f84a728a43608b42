import tdev
import torch
from contextlib import suppress
from functools import partial


def get_autocast(precision, kind="cuda"):
    if precision != "amp":
        return suppress

    return partial(tdev.amp.autocast, device_type=kind, dtype=torch.float16)