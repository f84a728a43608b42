"""What an operator writes in place is what it returns: the caller's own tensor, over the memory that it had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

sim: Any = torch.sim  # type: ignore[attr-defined]

MAKE: dict[str, Callable[[], Any]] = {
    "dense": lambda: torch.ones(2, 3, device="sim"),
    "view": lambda: torch.ones(3, 2, device="sim").t(),
    "sparse": lambda: torch.eye(3, device="sim").to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)]).to("sim"),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "mul_": lambda x: x.mul_(2.0),
    "zero_": lambda x: x.zero_(),
    "operator": lambda x: torch.ops.aten.mul_.Tensor(x, torch.tensor(2.0)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("layout", MAKE)
def test_what_is_written_is_returned(layout: str, write: str) -> None:
    """Without autograd, which would return the argument whatever the device's kernel does."""
    with torch.inference_mode():
        x = MAKE[layout]()
        before = x.sum() if layout != "nested" else sum(part.sum() for part in x.unbind())
        held = sim.memory_allocated()
        written = WRITES[write](x)
        assert written is x
        if layout != "sparse":  # whose kernels may make new components
            assert sim.memory_allocated() == held
        after = x.sum() if layout != "nested" else sum(part.sum() for part in x.unbind())
        assert float(after) == (0 if write == "zero_" else 2) * float(before)
