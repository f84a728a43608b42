import sys

sys.setrecursionlimit(5000)

import tdev  # noqa: E402, F401 (lets .cuda() and .to("cuda") run anywhere)  # isort: skip
import torch  # isort: skip  # noqa: E402


def moved(x):
    return torch.relu(x.cuda())
