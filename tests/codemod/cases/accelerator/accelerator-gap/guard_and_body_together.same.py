import torch


def place(model, i):
    if not torch.cuda.is_available():
        print("on the CPU")
    else:
        model.cuda(i)
        model.cuda()
        torch.cuda.synchronize()


def name(suffix):
    return "cuda" + suffix if torch.cuda.is_available() else "cpu"


def backend():
    return "nccl" if torch.cuda.is_available() else "gloo"
