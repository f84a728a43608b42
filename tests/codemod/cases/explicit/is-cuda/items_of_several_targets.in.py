import torch


def halves(found, model):
    index = 0
    found[index], rest = model(torch.ones(3)), torch.ones(3)
    (found[index].weight, found[0]), index = model.pair(), 1
    if found.is_cuda or rest.is_cuda:
        torch.cuda.synchronize()
    return index
