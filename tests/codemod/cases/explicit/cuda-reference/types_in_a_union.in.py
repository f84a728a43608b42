from typing import Optional, Union

import torch

Index = Union[int, torch.LongTensor, torch.cuda.LongTensor]
Stream = Optional[torch.cuda.Stream]


def take(x, index: Index):
    if isinstance(index, torch.cuda.LongTensor):
        torch.cuda.synchronize()
    return x[index]
