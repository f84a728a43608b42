from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Union

import tdev
import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float


def given(
    x: Float[Tensor, "points 3"],
    y: "Optional[torch.Tensor]",
    z: torch.Tensor | None,
    rows: List[Tensor],
    named: Dict[str, Tensor],
    p: torch.nn.Parameter,
    w: Union[Tensor, torch.nn.Parameter],
):
    print(
        tdev.is_accelerator(x),
        tdev.is_accelerator(y),
        tdev.is_accelerator(z),
        tdev.is_accelerator(rows[0]),
        tdev.is_accelerator(named["a"]),
        tdev.is_accelerator(p),
    )
    made: Tensor = make()
    return (
        tdev.is_accelerator(made),
        tdev.is_accelerator(w),
        [tdev.is_accelerator(row) for row in rows],
    )
