from typing import Optional, Union

import tdev
import torch

Index = Union[int, torch.LongTensor, torch.cuda.LongTensor]
Stream = Optional[tdev.cuda.Stream]


def take(x, index: Index):
    if isinstance(index, tdev.cuda.LongTensor):
        tdev.cuda.synchronize()
    return x[index]
