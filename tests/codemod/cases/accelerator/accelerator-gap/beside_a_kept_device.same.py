import torch


def train(ngpu, iterator, distributed):
    iterator_stop = torch.tensor(0).to("cuda" if ngpu > 0 else "cpu")
    for x in iterator:
        if distributed:
            torch.distributed.all_reduce(iterator_stop)
            if iterator_stop > 0:
                break
        turns = torch.distributed.broadcast(torch.rand(1).to("cuda"), src=0)
    return turns
