def to_cuda(x):
    from tdev.cuda import is_available

    return x.cuda() if is_available() else x


def moved_first(x):
    import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
    import torch

    x = torch.relu(x).cuda()
    from tdev.cuda import synchronize

    synchronize()
    return x
