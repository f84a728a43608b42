import torch

if torch.cuda.is_available():  # tdev: keep, the benchmark is about CUDA
    pass
y = torch.ones(1)
