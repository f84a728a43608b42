"""The short way for float32 gives what the usual way gives, and is taken for nothing else."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
import torch

from tdev_core.accelerators.mlx import runtime, setup, table
from tdev_core.accelerators.mlx.dispatch import direct, wrappers
from tdev_core.accelerators.mlx.registry import OPERATORS, Row
from tdev_core.accelerators.mlx.storage import allocation, capsules, structs

table.load()
SHORT = sorted(name for name, row in OPERATORS.items() if row.float32 is not None)


def refuses(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("left to the usual way")


def operator(row: Row) -> Any:
    return setup.find(*row.overload.split(".", 1))


def calls(overload: str) -> list[tuple[Any, ...]]:
    """Arguments, of every shape that matters to the operator."""
    torch.manual_seed(0)
    x, y, row = (torch.randn(s).to("mlx") for s in ((3, 4), (3, 4), (4,)))
    kinds = [
        str(a.type) for a in operator(OPERATORS[overload])._schema.arguments if not a.kwarg_only
    ]
    if overload == "mm.default":
        return [(x, x.t()), (x.t(), x)]
    if overload == "linear.default":
        return [(x, y), (x, y, torch.randn(3).to("mlx")), (row, y)]
    if overload == "sum.dim_IntList":
        return [(x, [0]), (x, [-1], True), (x, [0, 1])]
    if overload == "_softmax.default":
        return [(x, 0, False), (x, -1, False)]
    if overload == "cat.default":
        return [([x, y],), ([x, y], -1)]
    if len(kinds) == 1:
        return [(x,), (x.t(),), (x[1],), (torch.tensor(0.5).to("mlx"),), (x[:0],)]
    if kinds[1] == "Tensor":
        return [
            (x, y),
            (x, row),
            (x.t(), y.t()),
            (x, torch.tensor(2.0)),
            (x[1], x),
            (x, 3),
            (x, 0.1),
        ]
    return [(x, 3), (x, 0.1)]


@pytest.mark.parametrize("overload", SHORT)
def test_float32_is_answered_as_by_the_usual_way(overload: str) -> None:
    row = OPERATORS[overload]
    usual = wrappers.functional(operator(row), row.kernel)
    short = direct.through(operator(row), row, refuses)
    for arguments in calls(overload):
        result = short(*arguments)
        torch.testing.assert_close(
            result.cpu(), usual(*arguments).cpu(), rtol=0, atol=0, equal_nan=True
        )
        assert result.dtype is torch.float32 and result.device.type == "mlx"


def test_the_table_knows_the_short_way_of_what_models_call_most() -> None:
    assert {"add.Tensor", "mul.Tensor", "mm.default", "linear.default", "relu.default"} < set(SHORT)


@pytest.mark.parametrize(
    ("overload", "arguments"),
    [
        ("add.Tensor", lambda x: (x, x.half())),
        ("add.Tensor", lambda x: (x.int(), x.int())),
        ("mul.Tensor", lambda x: (x, True)),
        ("mul.Tensor", lambda x: (x, 1j)),
        ("mm.default", lambda x: (x, torch._neg_view(x))),
        ("mm.default", lambda x: (x[0], x)),
        ("exp.default", lambda x: (x.bfloat16(),)),
        ("sum.dim_IntList", lambda x: (x, [])),
        ("sum.dim_IntList", lambda x: (x, [0, 0])),
        ("cat.default", lambda x: ([x, x.half()],)),
        ("cat.default", lambda x: ([x, x[0]],)),
        ("_softmax.default", lambda x: (x, 2, False)),
        ("linear.default", lambda x: (x, x, x[0, :1])),
    ],
)
def test_everything_else_is_left_to_the_usual_way(overload: str, arguments: Any) -> None:
    row = OPERATORS[overload]
    with pytest.raises(AssertionError, match="left to the usual way"):
        direct.through(operator(row), row, refuses)(*arguments(torch.ones(2, 2).to("mlx")))


def test_named_arguments_reach_the_operator() -> None:
    x = torch.ones(2, 2).to("mlx")
    assert torch.add(x, x, alpha=3).tolist() == [[4.0, 4.0]] * 2
    assert x.clone().add_(x, alpha=3).tolist() == [[4.0, 4.0]] * 2
    assert torch.sum(x, 0, dtype=torch.int64).dtype is torch.int64


def test_in_place_keeps_shape_dtype_and_views() -> None:
    base = torch.zeros(2, 3).to("mlx")
    base[:, 1].add_(torch.ones(2).to("mlx")).mul_(5)
    assert base.tolist() == [[0.0, 5.0, 0.0]] * 2
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        base[0].add_(base.clone())
    negated = torch._neg_view(base.clone())
    assert negated.add_(1).tolist() == [[1.0, -4.0, 1.0]] * 2
    assert base.add_(torch._neg_view(base)).tolist() == [[0.0] * 3] * 2


def test_results_of_one_shape_have_storages_of_their_own() -> None:
    x = torch.ones(2, 2).to("mlx")
    results = [x + n for n in range(50)]
    assert len({r.data_ptr() for r in results}) == 50
    assert [r[0, 0].item() for r in results] == [1.0 + n for n in range(50)]


def test_threads_make_results_of_one_shape_at_once() -> None:
    found: dict[int, list[float]] = {}

    def work(number: int) -> None:
        x = torch.full((3,), float(number)).to("mlx")
        found[number] = [(x + n)[0].item() for n in range(200)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [float(n + i) for i in range(200)] for n in range(4)}


def test_without_known_capsules_each_tensor_gets_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capsules, "_refillable", lambda address: None)
    own = allocation._Local()
    monkeypatch.setattr(allocation, "_own", own)
    monkeypatch.setattr(structs, "_left", {})
    x = torch.ones(5, 1, 3).to("mlx")
    assert [(x + n).sum().item() for n in range(3)] == [15.0, 30.0, 45.0]
    assert not own.refillable


def test_more_shapes_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Structs serve other shapes while tensors that were made from them live."""
    monkeypatch.setattr(structs, "LIMIT", 16)
    monkeypatch.setattr(structs, "_left", {})
    monkeypatch.setattr(allocation, "_own", allocation._Local())
    made: list[int] = []
    monkeypatch.setattr(structs, "Struct", lambda n: made.append(n) or capsules.Struct(n))
    kept = [torch.full((n, n % 7 + 1), float(n)).to("mlx") for n in range(100)]
    strided = [torch.empty_strided((3, n), (1, 3), device="mlx") for n in range(2, 100)]
    again = [x + 1 for x in kept]
    assert [tuple(x.shape) for x in again] == [(n, n % 7 + 1) for n in range(100)]
    assert all(torch.equal(x.cpu(), torch.full(x.shape, n + 1.0)) for n, x in enumerate(again))
    assert [(*x.shape, *x.stride()) for x in strided] == [(3, n, 1, 3) for n in range(2, 100)]
    assert made.count(2) <= 16


def test_a_thread_that_has_ended_leaves_its_structs_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    monkeypatch.setattr(structs, "Struct", lambda n: made.append(n) or capsules.Struct(n))
    kept: list[torch.Tensor] = []
    for number in range(20):
        thread = threading.Thread(
            target=lambda n=number: kept.append(torch.zeros(n, 5, 7, 1, 2, device="mlx"))
        )
        thread.start()
        thread.join()
    assert [x.shape[0] for x in kept] == list(range(20))
    assert made.count(5) <= 1


def test_threads_give_no_two_storages_one_address() -> None:
    before, found = sys.getswitchinterval(), list[int]()

    def work() -> None:
        kept = [torch.empty(3, device="mlx") for _ in range(500)]
        found.extend(x.data_ptr() for x in kept)

    threads = [threading.Thread(target=work) for _ in range(8)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(found) == len(set(found)) == 4000


def test_the_first_operation_on_a_thread_adopts_the_stream() -> None:
    x, seen = torch.ones(3).to("mlx"), list[Any]()
    thread = threading.Thread(
        target=lambda: seen.extend([hasattr(runtime._local, "adopted"), (x + x).tolist()])
    )
    thread.start()
    thread.join()
    assert seen == [False, [2.0, 2.0, 2.0]]
