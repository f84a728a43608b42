"""A step on the device neither waits in Python nor leaves the process; one that computes later does so once."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.accelerators.mlx.storage import contents
from tests.accelerators.waiting import asked_of_the_system


def steps(kind: str) -> Any:
    """A model with its optimizer, as a function that makes one step."""
    torch.manual_seed(0)
    x = torch.randn(4, 3, 8, 8, device="mlx")
    convolutions = [torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten()]
    layers = {
        "image": [*convolutions, torch.nn.Linear(144, 2)],
        "text": [
            torch.nn.Flatten(),
            torch.nn.LayerNorm(192),
            torch.nn.GELU(),
            torch.nn.Linear(192, 2),
        ],
    }
    model = torch.nn.Sequential(*layers[kind]).to("mlx")
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        F.mse_loss(model(x), torch.zeros(4, 2, device="mlx")).backward()
        optimizer.step()

    return step


@pytest.mark.parametrize("kind", ["image", "text"])
def test_a_step_waits_for_nothing_and_asks_nothing_of_the_system(kind: str) -> None:
    step = steps(kind)
    step()  # what the first one loads and looks up
    assert asked_of_the_system(step) == []


def test_what_is_left_for_later_asks_nothing_either() -> None:
    """The statistics of a normalisation are computed when they are read, once."""
    x = torch.randn(4, 8, device="mlx")
    _, mean, _ = torch.native_layer_norm(x, (8,), None, None, 1e-5)
    computed: list[int] = []
    storage = mean.untyped_storage()
    later = storage.__dict__["_later"]
    storage.__dict__["_later"] = lambda: computed.append(1) or later()
    assert asked_of_the_system(lambda: contents.settle(storage)) == []
    contents.settle(storage)
    assert computed == [1]
    torch.testing.assert_close(mean.cpu().flatten(), x.cpu().mean(1))
