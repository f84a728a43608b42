import torch


def prepare(model):
    if not torch.cuda.is_available():
        model.attn_backend = "sdpa"
    else:
        model.cuda()
