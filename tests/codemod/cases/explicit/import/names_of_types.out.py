from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # The documentation traces the name back to torch.amp.GradScaler.
    from torch.amp import GradScaler

import tdev


def scaled(scaler: GradScaler | None) -> GradScaler:
    from tdev.amp import GradScaler

    return scaler or GradScaler("cuda", enabled=tdev.cuda.is_available())
