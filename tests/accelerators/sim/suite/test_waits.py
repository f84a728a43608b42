"""Where CUDA would wait for the device is told of, with the program's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tdev_core.accelerators.privateuse import waits

X = torch.arange(4.0).to("sim")
MASK = X > 1
WAITS: dict[str, tuple[Callable[[], Any], str]] = {
    "item": (lambda: X[0].item(), "_local_scalar_dense"),
    "truth": (lambda: bool(MASK[0]), "_local_scalar_dense"),
    "condition": (lambda: 1 if X.sum() > 0 else 2, "_local_scalar_dense"),
    "index of a list": (lambda: [1, 2, 3][X[1].long()], "_local_scalar_dense"),
    "to the host": (lambda: X.cpu(), "_to_copy"),
    "to the device": (lambda: torch.ones(2).to("sim"), "_to_copy"),
    "data for the device": (lambda: torch.tensor([1.0, 2.0], device="sim"), "_to_copy"),
    "list": (lambda: X.tolist(), "_to_copy"),
    "a number of the host's": (lambda: torch.ones_like(X).copy_(2.5), "copy_"),
    "into the host's": (lambda: torch.zeros(4).copy_(X), "copy_"),
    "nonzero": (lambda: X.nonzero(), "nonzero"),
    "where": (lambda: torch.where(MASK), "nonzero"),
    "mask": (lambda: X[MASK], "index.Tensor"),
    "mask as bytes": (lambda: X[None, MASK.byte().bool()], "index.Tensor"),
    "places on the host": (lambda: X[torch.tensor([0, 2])], "index.Tensor"),
    "write at places on the host": (
        lambda: X.clone().__setitem__(torch.tensor([0]), X[2]),
        "index_put_",
    ),
    "repeated as often as the device says": (
        lambda: X.repeat_interleave(X.long()),
        "repeat_interleave.Tensor",
    ),
    "write by a mask": (lambda: X.clone().__setitem__(MASK, X[2:]), "index_put_"),
    "write a number of the device by a mask": (
        lambda: X.clone().__setitem__(MASK, X[2]),
        "index_put_",
    ),
    "add by a mask": (
        lambda: X.clone().index_put_((MASK,), X[:1], accumulate=True),
        "index_put_",
    ),
    "add the host's number by a mask": (
        lambda: X.clone().index_put_((MASK,), torch.tensor(1.0), accumulate=True),
        "index_put_",
    ),
    "masked_select": (lambda: torch.masked_select(X, MASK), "masked_select"),
    "equal": (lambda: torch.equal(X, X), "equal"),
    "unique": (lambda: X.unique(), "_unique2"),
    "counts": (lambda: X.long().bincount(), "bincount"),
    "a singular matrix": (lambda: torch.linalg.inv(X[1:].new_ones(1, 1)), "_linalg_check_errors"),
}
GOES_ON: dict[str, Callable[[], Any]] = {
    "arithmetic": lambda: (X + 1).relu().sum(),
    "an index": lambda: X[1:3],
    "places": lambda: X[MASK.long()],
    "a length that is known": lambda: X.repeat_interleave(X.long(), output_size=6),
    "three-way where": lambda: torch.where(MASK, X, 0.0),
    "a copy on the device": lambda: X.clone().copy_(X),
    "another type": lambda: X.half(),
    "late": lambda: X.to("cpu", non_blocking=True),
    "late into the host's": lambda: torch.zeros(4).copy_(X, non_blocking=True),
    "made there": lambda: torch.zeros(3, device="sim"),
    "a shape": lambda: len(X) + X.numel(),
    "fill by a mask": lambda: X.clone().__setitem__(MASK, 0.0),
    "fill rows by a mask": lambda: torch.ones(4, 2, device="sim").__setitem__(MASK, 2),
    "fill columns by a mask": lambda: torch.ones(2, 4, device="sim").__setitem__((..., MASK), 2),
    "on the host": lambda: torch.ones(2).nonzero(),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    waits.set_mode(0)


@pytest.mark.parametrize("name", WAITS)
def test_what_waits_is_counted_at_its_line(name: str) -> None:
    program, operator = WAITS[name]
    before = waits.seen.copy()
    program()
    ((wait, count),) = (waits.seen - before).items()
    assert (wait.file, wait.operator, count) == (__file__, f"aten::{operator}", 1)
    assert wait.line == program.__code__.co_firstlineno


@pytest.mark.parametrize("name", GOES_ON)
def test_what_does_not_wait_is_not(name: str) -> None:
    waits.set_mode(2)
    before = waits.total()
    GOES_ON[name]()
    assert waits.total() == before


def test_an_error_says_what_torch_says() -> None:
    waits.set_mode(2)
    with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation: aten::nonzero"):
        X.nonzero()
    waits.set_mode(0)
    assert X.nonzero().shape == (3, 1)


def test_a_warning_stands_on_the_programs_line() -> None:
    waits.set_mode(1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        X.sum().item()
        X.sum().item()
    assert [str(w.message).partition(":")[0] for w in seen] == [
        "called a synchronizing CUDA operation"
    ] * 2
    assert {w.filename for w in seen} == {__file__} and seen[0].lineno + 1 == seen[1].lineno


def test_a_wait_inside_of_torchs_own_code_counts_where_the_program_called_it() -> None:
    before = waits.seen.copy()
    torch.nn.utils.clip_grad_norm_([_with_gradient()], 1.0, error_if_nonfinite=True)
    ((wait, _),) = (waits.seen - before).items()
    assert wait.file == __file__


def _with_gradient() -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(X.detach().clone())
    parameter.grad = torch.ones_like(parameter)
    return parameter
