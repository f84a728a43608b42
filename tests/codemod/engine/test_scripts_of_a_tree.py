"""A compiled module, or function, whose parts are known through the tree is compiled by torch where none names a device."""

from __future__ import annotations

import pytest

from tests.codemod.engine.test_ways_of_values import changed

MODEL = """from typing import Optional

import torch
from torch import nn

from .parts import Norm, Placed, chosen, mlp, placed


class Model(nn.Module):
    def __init__(self, cfg, given=None):
        super().__init__()
        self.part: Optional[nn.Module] = None
        {made}
        if cfg.scripted:
            self.part = torch.jit.script({compiled})
"""
PARTS = """import torch
from torch import nn
from torch.nn.utils import spectral_norm

KNOWN = {}


class Norm(nn.Module):
    def forward(self, x):
        return x - x.mean()


class Placed(nn.Module):
    def forward(self, x):
        return x + torch.ones(3, device="cuda")


def layer(n):
    return spectral_norm(nn.Linear(n, n))


def mlp(sizes):
    layers = []
    for n in sizes:
        layers.extend([layer(n), nn.ReLU()])
    return nn.Sequential(*layers)


def placed(n):
    return nn.Sequential(layer(n), Placed())


def chosen(cfg):
    return KNOWN[cfg.name](cfg.size)
"""


@pytest.mark.parametrize(
    ("made", "compiled", "by_torch"),
    [
        ("self.part = Norm()", "self.part", True),
        ("self.part = mlp(cfg.sizes)", "self.part", True),
        ("part = mlp(cfg.sizes)", "part", True),
        ("pass", "mlp(cfg.sizes)", True),
        ("self.part = Placed()", "self.part", False),
        ("self.part = placed(3)", "self.part", False),
        ("self.part = chosen(cfg)", "self.part", False),
        ("self.part = given", "self.part", False),
        ("self.part = Norm() if cfg else given", "self.part", False),
        ("pass", "given", False),
    ],
)
def test_what_is_made_in_another_file(made: str, compiled: str, by_torch: bool) -> None:
    files = {"model.py": MODEL.format(made=made, compiled=compiled), "parts.py": PARTS}
    assert changed(files, "model.py") is not by_torch


OWN = """import os

import torch


def maybe_script(f):
    return torch.jit.script(f) if os.environ.get("SCRIPT") else f


@maybe_script
def halves(x: torch.Tensor):
    return torch.cat([x.view(-1), part(x)])


def part(x: torch.Tensor):
    return {given}
"""


MOVES = """

class Moves(torch.nn.Module):
    def forward(self, x):
        return x.to("cuda")
"""


@pytest.mark.parametrize(
    ("given", "used", "by_torch"),
    [
        ("x[1:]", "", True),
        ("x[1:].to('cuda')", "", False),
        (
            "x[1:]",
            "from .own import maybe_script\n\n\n@maybe_script\ndef f(x):\n    return x\n",
            False,
        ),
        ("x[1:]", "from .own import halves\n", True),
    ],
)
def test_what_a_function_of_the_file_compiles(given: str, used: str, by_torch: bool) -> None:
    files = {"own.py": OWN.format(given=given), "uses.py": f"import torch\n{used}{MOVES}"}
    assert changed(files, "own.py") is not by_torch
