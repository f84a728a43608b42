"""Groups of one rank: what a program computes with them is what it computes without."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tdev_core.accelerators.privateuse import process_group, torch_api
from tdev_core.backend import Backend, current
from tdev_core.distributed import backend_names, collectives, groups, host_copies, sync_batch_norm
from tests.programs import run

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="what names become is asserted for the cpu backend"
)


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def begin() -> None:
    groups.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


# -- batch normalisation ----------------------------------------------------------------------------

SHAPES = {1: (6, 3), 2: (4, 3, 5), 3: (2, 3, 4, 2)}
LAYERS: dict[int, type[torch.nn.Module]] = {
    1: torch.nn.BatchNorm1d,
    2: torch.nn.BatchNorm1d,
    3: torch.nn.BatchNorm2d,
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"momentum": None},
    {"momentum": 0.7, "eps": 0.5},
    {"affine": False},
    {"track_running_stats": False},
]


BATCHES = [
    *((dims, {}, torch.float32) for dims in (1, 2)),
    *((3, options, torch.float32) for options in OPTIONS),
    *((2, {}, dtype) for dtype in (torch.float64, torch.bfloat16)),
]


@pytest.mark.parametrize(("dims", "options", "dtype"), BATCHES, ids=str)
def test_statistics_over_ranks_are_those_of_the_batch(
    dims: int, options: dict[str, Any], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one rank has the whole batch; torch asks how many there are, and hears of two."""
    begin()
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: 2)
    forward = sync_batch_norm.forward_shim(torch.nn.SyncBatchNorm.forward)
    held = torch.float64 if dtype == torch.float64 else torch.float32
    alone: Any = LAYERS[dims](3, dtype=held, **options)
    ours: Any = torch.nn.SyncBatchNorm(3, dtype=held, **options)
    for layer in (alone, ours) if options.get("affine", True) else ():
        torch.nn.init.constant_(layer.weight, 1.5)
        torch.nn.init.constant_(layer.bias, 0.25)
    close: Any = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {}
    for step in range(4):
        training = step < 3
        batch = torch.randn(SHAPES[dims], generator=torch.Generator().manual_seed(step)) * 3 + 1
        inputs = [batch.to(dtype).requires_grad_() for _ in range(2)]
        alone.train(training), ours.train(training)
        results = [alone(inputs[0]), forward(ours, inputs[1])]
        torch.testing.assert_close(results[1], results[0], **close)
        for result in results:
            (result.float() ** 3).sum().backward()
        torch.testing.assert_close(inputs[1].grad, inputs[0].grad, rtol=0.05, atol=0.3)
        torch.testing.assert_close(dict(ours.named_buffers()), dict(alone.named_buffers()))


@pytest.mark.parametrize("missing", ["running_mean", "running_var"])
def test_statistics_that_a_program_took_away_are_not_kept(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin()
    monkeypatch.setattr(dist, "get_world_size", lambda group=None: 2)
    layer = torch.nn.SyncBatchNorm(3)
    setattr(layer, missing, None)
    batch = torch.arange(12.0).reshape(4, 3)
    expected = torch.nn.BatchNorm1d(3)(batch)
    found = sync_batch_norm.forward_shim(torch.nn.SyncBatchNorm.forward)(layer, batch)
    torch.testing.assert_close(found, expected)
    assert layer.num_batches_tracked is not None and int(layer.num_batches_tracked) == 0


@pytest.mark.parametrize("shape", [(2, 0), (3,)])
def test_a_layer_refuses_what_torchs_refuses(shape: tuple[int, ...]) -> None:
    forward = sync_batch_norm.forward_shim(torch.nn.SyncBatchNorm.forward)
    with pytest.raises(ValueError, match="expected|non-zero"):
        forward(torch.nn.SyncBatchNorm(shape[-1] or 3), torch.ones(shape))


# -- scattered sums -----------------------------------------------------------------------------------

SUMS: dict[str, Any] = {
    "list": lambda output, given, later: collectives.reduce_scatter(
        output, [given], dist.ReduceOp.SUM, None, later
    ),
    "tensor": lambda output, given, later: collectives.reduce_scatter_tensor(
        output, given, dist.ReduceOp.SUM, None, later
    ),
}


@pytest.mark.parametrize("name", SUMS)
def test_each_way_to_scatter_sums_has_a_future(name: str) -> None:
    begin()
    given, output = torch.arange(3.0), torch.zeros(3)
    assert SUMS[name](output, given, False) is None and torch.equal(output, given)
    output = torch.zeros(3)
    work = SUMS[name](output, given, True)
    assert work.get_future().wait()[0] is output and torch.equal(output, given)
    output.zero_()
    assert work.wait() is True and not output.any()  # what came after is not written over
    work.synchronize()
    assert work.is_completed() and work.is_success() and not output.any()


def test_asking_is_enough_for_work_to_be_completed() -> None:
    begin()
    output = torch.zeros(3)
    work = SUMS["tensor"](output, torch.arange(3.0), True)
    while not work.is_completed():
        pass
    assert output.tolist() == [0, 1, 2]


def test_within_a_coalescing_manager_there_is_no_work() -> None:
    begin()
    for nothing in (None, marker := object()):
        found = collectives._with_future(nothing, torch.zeros(1))
        assert found is nothing or found is marker


# -- what reaches torch ---------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["world_size", "rank"])
def test_what_a_file_cannot_tell_has_to_be_said(missing: str, tmp_path: Path) -> None:
    told: dict[str, Any] = {"rank": 0, "world_size": 1}
    del told[missing]
    with pytest.raises(ValueError, match=missing.replace("_", ".")):
        groups.init_process_group("nccl", init_method=f"file://{tmp_path}/store", **told)


def test_each_operator_gets_a_kernel_that_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    placed: dict[str, tuple[str, str]] = {}
    called: dict[Any, str] = {}
    monkeypatch.setattr(process_group, "register", lambda kind: "gloo")
    monkeypatch.setattr(process_group, "_with_gloo", lambda kind, one: (kind, one))
    monkeypatch.setattr(
        host_copies, "kernel", lambda op, kind: called.setdefault(op, op.name()) and op
    )
    monkeypatch.setattr(
        torch_api, "implement", lambda name, one, key: placed.update({name: (key, one[1].name())})
    )
    monkeypatch.setattr(host_copies, "_served", set())
    for _ in range(2):
        assert host_copies.serve("mps", "MPS") == "gloo"
        assert {"c10d::allreduce_", "c10d::recv_any_source_"} <= placed.keys()
        assert placed == {name: ("MPS", name) for name in placed}
    assert len(called) == len(placed)
    placed.clear()
    host_copies.serve("mps", "MPS")
    assert not placed  # once for each kind of device


@pytest.mark.parametrize(
    ("wish", "chosen"),
    [
        ("docker", "docker0"),
        ("lo", "lo"),
        ("^eth", "ib0"),
        ("^ib", "eth0"),
        ("^=eth", "eth0,ib0"),
        ("^eth0,ib0", None),
        ("=docker0,lo", "lo,docker0"),
    ],
)
def test_loopback_and_docker_are_chosen_where_they_are_named(
    wish: str, chosen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend_names, "_interfaces", lambda: ["lo", "docker0", "eth0", "ib0"])
    monkeypatch.setattr(backend_names, "warn_once", lambda *_, **__: None)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", wish)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    backend_names.adopt_interface()
    assert os.environ["GLOO_SOCKET_IFNAME"] == (chosen or "")


def test_a_group_that_was_destroyed_outlives_the_model_that_used_it() -> None:
    """Else the model's reducer ends gloo's threads under the interpreter's lock, for which one of them may wait."""
    code = """
        import gc, weakref
        import tdev as torch
        from tdev_core.shims import distributed
        dist = torch.distributed

        def model():
            store = dist.HashStore()
            dist.init_process_group("nccl", store=store, rank=0, world_size=1)
            made = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
            made(torch.ones(1, 2)).sum().backward()
            return made

        first = model()
        dead, group = weakref.ref(first), weakref.ref(first.process_group)
        dist.destroy_process_group()
        del first
        gc.collect()
        assert dead() is None and group() is not None
        model()
        assert not any(one is group() for one in distributed._outlived)
    """
    run(code, TDEV_BACKEND="cpu")
