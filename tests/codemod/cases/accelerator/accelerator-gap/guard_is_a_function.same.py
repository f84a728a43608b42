import torch


def gpu_there():
    return torch.cuda.is_available()


def place(model, rank):
    if gpu_there():
        torch.cuda.synchronize()
        model = model.cuda(rank)
    return model
