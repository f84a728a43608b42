import torch


def prepare(mask, x):
    x = x + 1

    # the coarse mask
    # comes first
    if mask is not None:
        mask = mask.permute(1, 0).cuda().float()
    return mask, x.cuda()
