import tdev
import torch


def chosen(args):
    if args.device == "cpu":
        torch.set_num_threads(8)
        device = torch.device("cpu")
    elif args.device == "cuda":
        # more threads do not help here
        torch.set_num_threads(1)
        device = tdev.device("cuda")
    else:
        device = torch.device("mps")
    tdev.cuda.empty_cache()
    return device
