import tdev
import torch


def device_of(rank):
    return tdev.device(f"cuda:{rank % max(1, tdev.cuda.device_count())}")


print(f"cuda: {torch.cuda.device_count()} devices")
