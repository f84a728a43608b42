import torch


def place(model):
    # CUDA where there is one
    if torch.cuda.is_available():
        model.cuda()
    return model
