from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Union

import tdev as torch
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
        torch.is_accelerator(x),
        torch.is_accelerator(y),
        torch.is_accelerator(z),
        torch.is_accelerator(rows[0]),
        torch.is_accelerator(named["a"]),
        torch.is_accelerator(p),
    )
    made: Tensor = make()
    return (
        torch.is_accelerator(made),
        torch.is_accelerator(w),
        [torch.is_accelerator(row) for row in rows],
    )
