import tdev
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))
        self.bias = None
        self.bias = nn.Parameter(torch.zeros(3))
        self.register_buffer("steps", torch.zeros(1))
        self.cached: Tensor | None = None

    def ask(self):
        return (
            tdev.is_accelerator(self.weight),
            tdev.is_accelerator(self.bias),
            tdev.is_accelerator(self.steps),
            tdev.is_accelerator(self.cached),
        )


def results(u, v, flag):
    w = F.softmax(u, dim=-1)
    p = torch.linalg.norm(v)
    q = torch.topk(v, 3)[0]
    r = u.unsqueeze(0)
    t = (r * 2)[0]
    m = torch.max(v)
    first, second = torch.chunk(u, 2)
    k = torch.where(flag, u, v)
    n = r.masked_fill_(flag, 0)
    print(
        tdev.is_accelerator(w),
        tdev.is_accelerator(p),
        tdev.is_accelerator(q),
        tdev.is_accelerator(r),
        tdev.is_accelerator(t),
        tdev.is_accelerator(m),
    )
    return (
        tdev.is_accelerator(first),
        tdev.is_accelerator(second),
        tdev.is_accelerator(k),
        tdev.is_accelerator(n),
        tdev.is_accelerator(torch.topk(v, 3).values),
    )


def items(model, batch, pairs):
    print(
        batch["x"].size(0),
        tdev.is_accelerator(batch["x"]),
        tdev.is_accelerator(model.layer.weight),
    )
    for p in model.parameters():
        print(tdev.is_accelerator(p))
    for name, p in model.named_parameters():
        print(tdev.is_accelerator(p), tdev.is_accelerator(p.grad))
    for i, (one, p) in enumerate(zip(model.buffers(), pairs)):
        print(i, tdev.is_accelerator(one))
    return all(tdev.is_accelerator(p) for p in model.parameters())


def asked(thing, other):
    if isinstance(thing, torch.Tensor) and tdev.is_accelerator(thing):
        return 1
    return torch.is_tensor(other) and tdev.is_accelerator(other)


def replaced(x):
    x = x.unsqueeze(0)
    return tdev.is_accelerator(x)


def compared(out, y, mask):
    y = torch.randint(0, 3, (4,)).to(y.dtype)
    acc = (out.argmax(-1) == y)[~mask].float().mean()
    same = y is out
    return tdev.is_accelerator(acc), same.is_cuda
