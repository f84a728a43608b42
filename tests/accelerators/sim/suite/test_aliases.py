"""What is kept of a tensor for the next operator is right for it, or is not used."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tdev_core.accelerators.sim import aliasing, fallback, lowering, memory
from tdev_core.accelerators.sim.rules import rules

_aten: Any = torch.ops.aten


def _made() -> torch.Tensor:
    """Make a tensor on the device as an operator's result, which is what an alias is kept of."""
    return torch.arange(6.0, device="sim:0").reshape(2, 3) + 0


def _kept(tensor: torch.Tensor) -> Any:
    if memory.counts_natively():
        pytest.skip("the native kernels keep what they need themselves")
    return aliasing.kept_alias(tensor)


def test_result_keeps_the_tensor_that_it_was_made_of() -> None:
    if not memory._makes_whole:
        pytest.skip("this torch makes no tensor over memory that it is given: one read keeps it")
    x = _made()
    kept = _kept(x)
    assert kept is not None
    assert kept[0].data_ptr() == x.data_ptr() and kept[0].shape == x.shape and kept[1] == 0


def test_nothing_is_held_longer() -> None:
    gc.collect()
    before = memory.pool(0).allocated
    x = _made()
    y = x.t() * 2  # what is kept is of another shape now
    del x, y
    assert memory.pool(0).allocated == before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x: x.t_(), id="t_"),
        pytest.param(lambda x: x.resize_(2, 2), id="resize_"),
        pytest.param(lambda x: x.resize_(20).fill_(1.0), id="resize_ to more"),
        pytest.param(lambda x: x.set_(torch.ones(4, device="sim:0")), id="set_"),
        pytest.param(lambda x: setattr(x, "data", torch.ones(3, device="sim:0")), id="data"),
        pytest.param(lambda x: x.unsqueeze_(0), id="unsqueeze_"),
        pytest.param(lambda x: torch.add(x, 1.0, out=x), id="out"),
        pytest.param(lambda x: torch.sum(x, 0, out=x.resize_(0)), id="out of another shape"),
        pytest.param(lambda x: x.untyped_storage().share_memory_(), id="share_memory_"),
        pytest.param(lambda x: torch._foreach_add_([x], 1.0), id="foreach"),
    ],
)
def test_a_changed_tensor_is_read_as_it_is_now(change: Any) -> None:
    x = _made()
    _ = x + x  # somebody has read it before
    change(x)
    on_cpu = x.cpu()
    assert on_cpu.shape == x.shape
    torch.testing.assert_close((x * 2).cpu(), on_cpu * 2)
    torch._foreach_mul_([x], 3.0)
    torch.testing.assert_close(x.cpu(), on_cpu * 3)


def test_a_storage_that_was_taken_away_is_refused_still() -> None:
    x = _made()
    _ = x + x
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="resized to 0 bytes"):
        torch.add(x, 1.0)


def test_two_tensors_that_look_alike_are_two() -> None:
    x = _made()
    _kept(x)
    call = lowering.Call(rules(_aten.add.Tensor))
    one, same, other = (
        call.lower(value, name)
        for value, name in ((x, "self"), (x, "other"), (x.detach(), "other"))
    )
    assert one is same and one is not other
    assert call.lift(one, 0) is x


def test_an_argument_that_may_be_given_another_shape_has_an_alias_of_its_own() -> None:
    x = _made()
    _ = x + 1
    kept = _kept(x)
    call = lowering.Call(rules(_aten.resize_.default))
    assert call.lower(x, "self") is not kept[0]
    call = lowering.Call(rules(_aten.add.out))
    read, written = call.lower(x, "self"), call.lower(x, "out")
    assert read is written and aliasing.kept_alias(x) is None


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    made = torch.library.Library("tdev_test_aliases", "DEF")
    yield made
    made._destroy()


def test_a_kernel_of_the_program_s_own_is_given_an_alias_of_its_own(
    library: torch.library.Library,
) -> None:
    given = []

    def turned(x: torch.Tensor) -> torch.Tensor:
        given.append(x.t_())
        return x.clone()

    library.define("turned(Tensor x) -> Tensor")
    library.impl("turned", turned, "CPU")
    op: Any = torch.ops.tdev_test_aliases.turned.default
    x = _made()
    assert fallback.run(op, x).shape == (3, 2)
    assert given and (x + 0).cpu().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_memory_that_inference_mode_has_made_is_written_outside_of_it() -> None:
    with torch.inference_mode():
        made = torch.ones(3, device="sim:0") + 1
    x = torch.empty(0, device="sim:0")
    x.set_(made.untyped_storage(), 0, (3,), (1,))
    torch._foreach_add_([x], 1.0)
    assert x.tolist() == [3.0] * 3


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda x: x[:1], id="fewer"),
        pytest.param(lambda x: x[:, :2].t(), id="other strides"),
        pytest.param(lambda x: x[1], id="elsewhere"),
        pytest.param(torch._neg_view, id="negated"),
        pytest.param(lambda x: x.view(torch.int32), id="other dtype"),
    ],
)
def test_a_view_is_read_as_it_is(view: Any) -> None:
    for read_before in (slice(None), (slice(None), slice(2)), 0):
        x = _made()
        _ = x[read_before] + 0  # an alias of this is kept
        torch.testing.assert_close((view(x) + 0).cpu(), view(x.cpu()) + 0)


def test_an_argument_that_is_read_and_given_another_shape_has_it() -> None:
    x = _made()
    _aten.unsqueeze_copy.out(x, 0, out=x)
    assert x.shape == (1, 2, 3) and (x + 0).tolist() == [[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]]


def test_a_negated_view_is_read_negated() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j], device="sim:0")
    _ = x * 1
    assert x.conj().imag.neg().tolist() == [2.0, -4.0]
    assert (x.conj() * 1).tolist() == [1 - 2j, 3 + 4j] and (x * 1).tolist() == [1 + 2j, 3 - 4j]


def test_arguments_of_two_devices_are_refused_when_they_are_kept() -> None:
    one, other = _made(), torch.ones(2, 3, device="sim:1") + 0
    _ = one + one, other + other
    with pytest.raises(RuntimeError, match="at least two devices"):
        torch.add(one, other)
