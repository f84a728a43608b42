from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Union

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
    print(x.is_cuda, y.is_cuda, z.is_cuda, rows[0].is_cuda, named["a"].is_cuda, p.is_cuda)
    made: Tensor = make()
    return made.is_cuda, w.is_cuda, [row.is_cuda for row in rows]
