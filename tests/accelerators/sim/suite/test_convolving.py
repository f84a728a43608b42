"""Which convolution is chosen: the one that computes it, so that what a compiler expects is what comes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

convolve: Any = torch.ops.aten.convolution


def arguments(device: str, dims: int, transposed: bool) -> tuple[Any, ...]:
    x = torch.rand(2, 6, *[7] * dims, device=device)
    weight = torch.rand(6, 6, *[3] * dims, device=device)
    many = ([1] * dims, [0] * dims, [1] * dims)
    return x, weight, None, *many, transposed, [0] * dims, 1


@pytest.mark.parametrize("library", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_choice_is_the_cpus(dims: int, transposed: bool, library: bool) -> None:
    select: Any = torch._C._select_conv_backend
    with torch.backends.mkldnn.flags(enabled=library):
        ours, theirs = (select(*arguments(at, dims, transposed)) for at in ("sim", "cpu"))
    assert ours == theirs
    assert "Overrideable" not in str(ours)


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
def test_a_fake_result_lies_as_the_real_one(transposed: bool, channels_last: bool) -> None:
    given = arguments("sim", 2, transposed)
    if channels_last:
        given = (given[0].to(memory_format=torch.channels_last), *given[1:])
    real = convolve(*given)
    with FakeTensorMode() as mode:
        fake = convolve(mode.from_tensor(given[0]), mode.from_tensor(given[1]), *given[2:])
    assert (fake.stride(), fake.device, fake.shape) == (real.stride(), real.device, real.shape)
