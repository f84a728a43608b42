import torch


def prepare(mask, x):
    x = x + 1

    device = torch.accelerator.current_accelerator()
    # the coarse mask
    # comes first
    if mask is not None:
        mask = mask.permute(1, 0).to(device).float()
    return mask, x.to(device)
