import sys

import torch

if not torch.cuda.is_available():
    print("no CUDA device was found")
    sys.exit(1)


def encode(text):
    return torch.tensor(text).cuda()
