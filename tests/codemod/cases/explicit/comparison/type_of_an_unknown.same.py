import torch


def resolve(context):
    target = context.place
    if target.type == "cuda" and target.index is None:
        target = torch.device(target.type, torch.cuda.current_device())
    return target
