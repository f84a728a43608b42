import torch


def joint(net, x, temperature):
    res = net(x)
    if not res.is_cuda:
        res = (res / temperature).log_softmax(dim=-1) if temperature else res.log_softmax(dim=-1)
    return res


def lengths(batch, only_there):
    fused = only_there and batch.seq_lens.is_cuda
    return fused


def offsets(batch):
    if batch.seq_lens.is_cuda:
        return torch.cumsum(batch.seq_lens, 0)
    return batch.seq_lens


def unknown(batch):
    return batch.tokens.is_cuda
