from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


def device_of(wanted: str | None, dtype: torch.dtype | None) -> str:
    require("torch", "Running a model")
    import torch

    return wanted or f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu"


def by_its_name(name: str) -> object:
    import torch

    torch.cuda.synchronize()
    return torch


def require(package: str, what: str) -> None:
    __import__(package)
