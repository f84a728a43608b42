import torch


def by_default(group, foreach, default_on_cuda):
    if foreach is None and default_on_cuda:
        return any(p.is_cuda for p in group["params"] if p.grad is not None)
    return foreach


def step(foreach, p: torch.Tensor):
    if foreach is True or (foreach is None and p.is_cuda):
        torch._foreach_add_([p], 1)


def wait(p: torch.Tensor):
    if p.is_cuda:
        torch.cuda.synchronize()
