from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tdev as torch


def wait(stream: torch.cuda.Stream, x: torch.Tensor) -> None:
    stream.synchronize()


def made(n):
    from tdev import zeros

    return zeros(n, device="cuda")
