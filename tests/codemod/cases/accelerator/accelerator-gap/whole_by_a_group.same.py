import torch
from torch.nn.parallel import DistributedDataParallel


def place(model):
    model = model.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    return DistributedDataParallel(model)
