import os

import torch
from torch.version import cuda as built_for


def fix():
    if built_for is not None and float(built_for) >= 10.2:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    if torch.version.cuda is not None and float(torch.version.cuda) >= 11:
        return True
    return bool(os.environ) if built_for else False
