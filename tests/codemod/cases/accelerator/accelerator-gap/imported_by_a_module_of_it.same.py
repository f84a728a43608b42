import torch.distributed


def gather(rows, size):
    buffer = torch.cuda.ByteTensor(size)
    torch.distributed.all_gather(rows, buffer.cuda())
    return rows
