import torch

FAST = ["torch.cuda.HalfTensor", "torch.cuda.FloatTensor"]


def split(tensors):
    return [t for t in tensors if t.type() == "torch.cuda.HalfTensor"], tensors[0].type("torch.cuda.FloatTensor")
