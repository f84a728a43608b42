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
        return self.weight.is_cuda, self.bias.is_cuda, self.steps.is_cuda, self.cached.is_cuda


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
    print(w.is_cuda, p.is_cuda, q.is_cuda, r.is_cuda, t.is_cuda, m.is_cuda)
    return first.is_cuda, second.is_cuda, k.is_cuda, n.is_cuda, torch.topk(v, 3).values.is_cuda


def items(model, batch, pairs):
    print(batch["x"].size(0), batch["x"].is_cuda, model.layer.weight.is_cuda)
    for p in model.parameters():
        print(p.is_cuda)
    for name, p in model.named_parameters():
        print(p.is_cuda, p.grad.is_cuda)
    for i, (one, p) in enumerate(zip(model.buffers(), pairs)):
        print(i, one.is_cuda)
    return all(p.is_cuda for p in model.parameters())


def asked(thing, other):
    if isinstance(thing, torch.Tensor) and thing.is_cuda:
        return 1
    return torch.is_tensor(other) and other.is_cuda


def replaced(x):
    x = x.unsqueeze(0)
    return x.is_cuda


def compared(out, y, mask):
    y = torch.randint(0, 3, (4,)).to(y.dtype)
    acc = (out.argmax(-1) == y)[~mask].float().mean()
    same = y is out
    return acc.is_cuda, same.is_cuda
