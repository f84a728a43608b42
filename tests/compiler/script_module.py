"""A module for TorchScript, which reads annotations that are objects: nothing from __future__ here."""

from typing import Optional, Union

import tdev as torch


class Placed(torch.nn.Module):
    """Knows its device by annotation."""

    where: torch.device
    other: Optional[torch.device]  # noqa: UP045

    def __init__(self, where: Union[str, torch.device]) -> None:  # noqa: UP007
        super().__init__()
        self.where = torch.device(where)
        self.other = None

    def forward(
        self,
        x: torch.Tensor,
        device: Optional[torch.device] = None,  # noqa: UP045
    ) -> torch.Tensor:
        place = self.where if device is None else device
        return x.to(self.where) + torch.ones(2, device=place)


def named(x: torch.Tensor, device: str) -> torch.Tensor:
    """Moves ``x`` to a device that is named at run time."""
    return x.to(device)
