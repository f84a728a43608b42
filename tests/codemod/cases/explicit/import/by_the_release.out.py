from typing import TYPE_CHECKING

import torch

try:
    from tdev.amp import GradScaler, autocast
except ImportError:
    from torch.cuda.amp import GradScaler, autocast

if TYPE_CHECKING:
    try:
        from torch.amp import custom_fwd
    except ImportError:
        from torch.cuda.amp import custom_fwd


def step(model, x: "custom_fwd"):
    scaler = GradScaler("cuda")
    with autocast("cuda"):
        loss = model(x)
    scaler.scale(loss).backward()
