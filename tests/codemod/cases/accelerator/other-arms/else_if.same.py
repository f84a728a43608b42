import torch

if torch.cuda.is_available():
    name = "cuda"
else:
    if torch.backends.mps.is_available():
        name = "mps"
    else:
        name = "cpu"
