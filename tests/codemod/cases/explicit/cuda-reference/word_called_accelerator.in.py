import torch


def infer(model, loader, conf):
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    return model.to(accelerator)(loader)


def infer_by_parts(model, loader):
    if torch.cuda.is_available():
        accelerator = "cuda"
        devices = 1
    else:
        accelerator = "cpu"
        devices = 1
    return model.to(accelerator)(loader)


def clear():
    torch.cuda.empty_cache()
