import torch

class Options:
    cuda = True

print(Options().cuda, torch.ones(1))
