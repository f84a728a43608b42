import torch

use_gpu = torch.cuda.is_available()


def place(model, rank):
    if use_gpu:
        torch.cuda.empty_cache()
        model = model.cuda(rank)
    return model
