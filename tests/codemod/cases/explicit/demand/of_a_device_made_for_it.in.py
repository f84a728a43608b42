import torch


def parse(args):
    if torch.device(args.device).type != "cuda":
        raise ValueError("training requires a CUDA device.")
    if torch.device(args.device).type == "cuda":
        args.fast = True
    return torch.device(args.device)
