import torch

if any([torch.cuda.is_available(), torch.backends.mps.is_available()]):
    BATCH = 128
else:
    BATCH = 8
