import torch

HAS_GPU = torch.cuda.is_available() or torch.backends.mps.is_available()
