def to_cuda(x):
    from torch.cuda import is_available

    return x.cuda() if is_available() else x


def moved_first(x):
    import torch

    x = torch.relu(x).cuda()
    from torch.cuda import synchronize

    synchronize()
    return x
