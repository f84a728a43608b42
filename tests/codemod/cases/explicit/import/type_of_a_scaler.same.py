from typing import Optional

import torch
from torch.cuda.amp.grad_scaler import GradScaler


class Callbacks:
    grad_scaler: Optional[GradScaler]

    def step(self, scaler: GradScaler, optimizer: torch.optim.Optimizer) -> None:
        scaler.step(optimizer)
