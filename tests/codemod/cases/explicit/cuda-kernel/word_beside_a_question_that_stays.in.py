import torch


def check(model, force):
    device = "cpu"
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_tf32 = False
        device = "cuda:0"
    if force:
        device = "cuda"
    return model.to(device)
