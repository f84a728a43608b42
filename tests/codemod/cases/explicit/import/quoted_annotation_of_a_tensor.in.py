from typing import Optional

import torch


class Worker:
    event: Optional["torch.cuda.Event"] = None
    last: Optional["torch.Tensor"] = None
