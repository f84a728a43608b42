import sys

sys.setrecursionlimit(5000)

import torch  # isort: skip  # noqa: E402


def moved(x):
    return torch.relu(x.cuda())
