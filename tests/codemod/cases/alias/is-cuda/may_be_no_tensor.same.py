from typing import List, Union

import torch
import torch.nn.functional as F


def f(x: Union[torch.Tensor, List[int]], storage, flag, items):
    y = torch.zeros(3) if flag else items
    z = torch.chunk(torch.ones(2), 2)
    s = "%d" % torch.zeros(1)
    if flag:
        w = torch.zeros(3)
    else:
        w = items
    print(x.is_cuda, storage.is_cuda, y.is_cuda, z.is_cuda, s.is_cuda, w.is_cuda)
    for item in items:
        print(item.is_cuda, F.embedding.is_cuda)


def later(x, again):
    for step in range(3):
        print(x.is_cuda)
        x = again(x.is_cuda)


class Holder:
    def __init__(self, store):
        self.kept = torch.zeros(3)
        self.kept = store

    def ask(self):
        return self.kept.is_cuda
