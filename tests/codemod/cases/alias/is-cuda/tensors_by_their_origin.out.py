import tdev as torch
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
            torch.is_accelerator(self.weight),
            torch.is_accelerator(self.bias),
            torch.is_accelerator(self.steps),
            torch.is_accelerator(self.cached),
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
        torch.is_accelerator(w),
        torch.is_accelerator(p),
        torch.is_accelerator(q),
        torch.is_accelerator(r),
        torch.is_accelerator(t),
        torch.is_accelerator(m),
    )
    return (
        torch.is_accelerator(first),
        torch.is_accelerator(second),
        torch.is_accelerator(k),
        torch.is_accelerator(n),
        torch.is_accelerator(torch.topk(v, 3).values),
    )


def items(model, batch, pairs):
    print(
        batch["x"].size(0),
        torch.is_accelerator(batch["x"]),
        torch.is_accelerator(model.layer.weight),
    )
    for p in model.parameters():
        print(torch.is_accelerator(p))
    for name, p in model.named_parameters():
        print(torch.is_accelerator(p), torch.is_accelerator(p.grad))
    for i, (one, p) in enumerate(zip(model.buffers(), pairs)):
        print(i, torch.is_accelerator(one))
    return all(torch.is_accelerator(p) for p in model.parameters())


def asked(thing, other):
    if isinstance(thing, torch.Tensor) and torch.is_accelerator(thing):
        return 1
    return torch.is_tensor(other) and torch.is_accelerator(other)


def replaced(x):
    x = x.unsqueeze(0)
    return torch.is_accelerator(x)


def compared(out, y, mask):
    y = torch.randint(0, 3, (4,)).to(y.dtype)
    acc = (out.argmax(-1) == y)[~mask].float().mean()
    same = y is out
    return torch.is_accelerator(acc), same.is_cuda
