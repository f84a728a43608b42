from package import is_available


def free():
    if not is_available("torch"):
        return
    import torch

    torch.cuda.empty_cache()
