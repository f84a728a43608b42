import torch


def load(path):
    first = torch.load(path, map_location=lambda storage, location: storage.cuda(0))
    second = torch.load(path, map_location=lambda s, _: s.cuda())
    return map(lambda x, y: x.cuda() + y, (first, second))
