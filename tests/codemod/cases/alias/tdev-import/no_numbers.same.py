import torch


def cast(x, dtype, other, ranks):
    return x.to(dtype), x.to(other), x.to(torch.float16), x.to(ranks[0].dtype)


class Trainer:
    def wrap(self, model):
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=None)


print([t.dtype for t in cast(torch.ones(1), torch.int8, torch.ones(1), [torch.ones(1)])])
