import tdev
import torch


def seed_ranks(seed, rank):
    torch.manual_seed(seed)
    tdev.cuda.manual_seed(seed + rank)


def seed_cuda(seed):
    tdev.cuda.manual_seed_all(seed)
