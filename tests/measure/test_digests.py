"""Digests tell how far tensors are apart, and which are none of each other's."""

from __future__ import annotations

import math

import pytest
import torch

from tdev_core.measure.digests import Digest, digest, distance, epsilon
from tdev_core.measure.values import ulp


def of(tensor: torch.Tensor) -> Digest:
    found = digest(tensor)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [1, 7, 1 << 14, (1 << 14) + 1, 100_003])
@pytest.mark.parametrize("apart", [1e-6, 1e-2, 1.0])
def test_the_distance_is_that_of_the_tensors(count: int, apart: float) -> None:
    generator = torch.Generator().manual_seed(count)
    one = torch.randn(count, dtype=torch.float64, generator=generator)
    other = one + apart * torch.randn(count, dtype=torch.float64, generator=generator)
    true = float(torch.linalg.vector_norm(one - other))
    assert 0.3 * true < distance(of(one), of(other)) < 3 * true
    assert distance(of(one), of(one.clone())) == 0


def test_one_element_that_is_off_is_seen_among_a_million() -> None:
    one = torch.zeros(1_000_000)
    other = one.clone()
    other[765_432] = 3.0
    assert distance(of(one), of(other)) == pytest.approx(3.0)


def test_elements_that_change_places_are_seen() -> None:
    one = torch.zeros(1 << 16)
    far, near = one.clone(), one.clone()
    far[5], near[5 + (1 << 14)] = 1.0, 1.0
    assert distance(of(far), of(near)) > 0.5


def test_other_shapes_and_other_odd_elements_are_infinitely_far() -> None:
    one = torch.ones(4)
    odd = one.clone()
    odd[0] = math.nan
    assert distance(of(one), of(one.reshape(2, 2))) == math.inf
    assert distance(of(one), of(odd)) == math.inf
    assert of(odd).odd == (1, 0) and distance(of(odd), of(odd)) == 0


def test_what_has_no_values_has_no_digest() -> None:
    assert digest(torch.ones(2, device="meta")) is None
    assert digest(torch.ones(2).to_sparse()) is None
    assert of(torch.ones(2, dtype=torch.complex64)).norm == pytest.approx(math.sqrt(2))
    assert of(torch.empty(0)).norm == 0 and of(torch.tensor(True)).norm == 1


def test_a_digest_goes_through_json_and_back() -> None:
    one = of(torch.randn(3, 5))
    assert Digest.unpacked(one.packed()) == one


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_neighbours_are_one_ulp_apart(dtype: torch.dtype) -> None:
    one = torch.tensor([1.0, -1.0, 0.0, 1e-3], dtype=dtype)
    bits = {8: torch.int64, 4: torch.int32, 2: torch.int16}[one.element_size()]
    other = (one.view(bits) + 1).view(dtype)
    assert ulp(one, other).tolist() == [1, 1, 1, 1]
    assert ulp(one[:1], -one[:1]).item() == 2 * ulp(one[:1], torch.zeros(1, dtype=dtype)).item()
    assert epsilon(str(dtype)[6:]) == torch.finfo(dtype).eps and epsilon("int64") == 0
