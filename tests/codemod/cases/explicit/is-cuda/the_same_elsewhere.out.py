import tdev
import torch


def joint(net, x, temperature):
    res = net(x)
    if not tdev.is_accelerator(res):
        res = (res / temperature).log_softmax(dim=-1) if temperature else res.log_softmax(dim=-1)
    return res


def lengths(batch, only_there):
    fused = only_there and tdev.is_accelerator(batch.seq_lens)
    return fused


def offsets(batch):
    if tdev.is_accelerator(batch.seq_lens):
        return torch.cumsum(batch.seq_lens, 0)
    return batch.seq_lens


def unknown(batch):
    return batch.tokens.is_cuda
