import torch

assert torch.cuda.is_available()


def encode(text):
    return torch.tensor(text).cuda()
