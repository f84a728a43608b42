import tdev
import torch


def halves(found, model):
    index = 0
    found[index], rest = model(torch.ones(3)), torch.ones(3)
    (found[index].weight, found[0]), index = model.pair(), 1
    if found.is_cuda or tdev.is_accelerator(rest):
        tdev.cuda.synchronize()
    return index
