from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The documentation traces the name back to torch.amp.GradScaler.
    from torch.amp import GradScaler

import torch


def scaled(scaler: GradScaler | None) -> GradScaler:
    from torch.amp import GradScaler

    return scaler or GradScaler("cuda", enabled=torch.cuda.is_available())
