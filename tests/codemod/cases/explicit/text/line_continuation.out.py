import tdev
import torch

n = tdev.cuda \
    .device_count()
x = torch.ones(n)
