import torch


def seed_ranks(seed, rank):
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed + rank)


def seed_cuda(seed):
    torch.cuda.manual_seed_all(seed)
