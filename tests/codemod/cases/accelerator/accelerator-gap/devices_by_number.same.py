import torch


def load(path, rank):
    first = "cuda:{}".format(rank)
    where = "cuda:%d" % rank
    other = "cuda:" + str(rank)
    last = f"cuda:{rank}"
    return torch.load(path, map_location={"cuda:0": "cuda:%d" % rank})
