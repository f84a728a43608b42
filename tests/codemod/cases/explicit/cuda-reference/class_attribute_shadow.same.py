class Fake:
    torch = object()
    flag = torch.cuda

import torch

x = torch.ones(1)
