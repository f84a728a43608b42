from typing import Union

import torch


def focal(x: torch.Tensor, target: Union[torch.LongTensor, torch.cuda.LongTensor]) -> torch.Tensor:
    found: "torch.cuda.FloatTensor" = x
    return found.gather(1, target)
