import torch

cuda = torch.ones(3)
cuda += 1
total = cuda.sum() + cuda.mean()
