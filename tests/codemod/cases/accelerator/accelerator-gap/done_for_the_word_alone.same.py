import torch


def move(model, setting):
    if setting == "cuda":
        return model.cuda()
    return model
