import torch


def load(path, ranks, args, start):
    torch.load(path, map_location="cuda:{}".format(ranks["local"]))
    torch.load(path, map_location={"cuda:0": "cuda:%d" % args.rank})
    start(worker="cuda:{}".format(args.rank))
    device = "cuda" + ":" + str(args.rank)
    devices = [f"cuda:{i}" for i in range(4)]
    named = map(lambda i: f"cuda:{i}", ranks)
    return device, devices, named
