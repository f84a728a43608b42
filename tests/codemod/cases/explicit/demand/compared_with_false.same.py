import os

import torch


def check_requirements(abort=False):
    if torch.cuda.is_available() is False:
        if not abort:
            return False
        raise AssertionError("requires pytorch built with cuda.")
    if os.getenv("LD_LIBRARY_PATH") is None:
        return False
    return True
