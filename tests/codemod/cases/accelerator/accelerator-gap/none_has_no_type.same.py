import torch


def place(model, rank):
    return model.to(torch.device("cuda", rank))
