from typing import Optional

import tdev
import torch


class Worker:
    event: Optional["tdev.cuda.Event"] = None
    last: Optional["torch.Tensor"] = None
