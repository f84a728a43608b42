"""Backend strings, settings and single-process data parallelism; no process group is made."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tdev_core.backend import Backend, current
from tdev_core.distributed import (
    backend_names,
    group_backends,
    groups,
    host_copies,
    parallel,
)
from tdev_core.errors import DeviceWarning
from tdev_core.shims import distributed as shims_distributed

on_cpu = pytest.mark.skipif(
    current() is not Backend.CPU, reason="what names become is asserted for the cpu backend"
)


@on_cpu
@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("nccl", "gloo"),
        ("NCCL", "gloo"),
        ("xccl", "gloo"),
        ("gloo", "gloo"),
        ("cuda:nccl", "cpu:gloo"),
        ("cuda:nccl,cpu:gloo", "cpu:gloo"),
        ("cpu:gloo,cuda:nccl", "cpu:gloo"),
        ("cpu:fake,cuda:nccl", "cpu:fake"),  # what the program says of the CPU itself wins
        ("cuda:nccl,xpu:xccl", "cpu:gloo"),
        ("fake", "fake"),
        ("mpi", "mpi"),
        ("ncll", "ncll"),  # for torch to refuse
        ("cuda:nccl:0", "cuda:nccl:0"),
        ("cuda:nccl,cuda:gloo", "cpu:gloo"),
        ("cpu:gloo,cpu:nccl", "cpu:gloo,cpu:nccl"),
        (",", ","),
    ],
)
def test_backend_string(asked: str, given: str) -> None:
    assert backend_names.host_name(asked) == given


def test_gloo_is_told_of_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPS has no collectives of its own: kernels are registered with its dispatch key."""
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(backend_names, "current", lambda: Backend.MPS)
    monkeypatch.setattr(host_copies, "serve", lambda kind, key: told.append((kind, key)) or "gloo")
    assert backend_names.host_name("nccl") == "gloo"
    assert backend_names.host_name("gloo") == "gloo"
    assert told == [("mps", "MPS")] * 2


@pytest.mark.parametrize(
    ("wish", "chosen"),
    [
        ("eth", "eth0,eth1"),
        ("eth0,ib", "eth0,ib0"),
        ("=eth1", "eth1"),
        ("^eth", "ib0"),
        ("^=eth0", "eth1,ib0"),
    ],
)
def test_interface_of_nccl_is_gloos(
    wish: str, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setattr(backend_names, "_interfaces", lambda: ["lo", "eth0", "eth1", "ib0"])
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", wish)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    backend_names.adopt_interface()
    assert os.environ["GLOO_SOCKET_IFNAME"] == chosen


def test_interface_that_is_not_here_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "no_such_interface")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "")
    with pytest.warns(DeviceWarning, match="no network interface"):
        backend_names.adopt_interface()
    assert os.environ["GLOO_SOCKET_IFNAME"] == ""


def test_a_choice_for_gloo_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "mine")
    backend_names.adopt_interface()
    assert os.environ["GLOO_SOCKET_IFNAME"] == "mine"


def test_without_a_group_torch_says_so() -> None:
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        group_backends.get_backend()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        groups.split_group(split_ranks=[[0]])


@pytest.mark.parametrize("split", [None, []])
def test_split_without_ranks(split: Any) -> None:
    with pytest.raises(ValueError, match="cannot be None or empty"):
        groups.split_group(split_ranks=split)


@on_cpu
@pytest.mark.parametrize(
    ("device", "bound"),
    [(0, None), (3, None), (torch.device("cuda", 1), None), ("cuda:1", None), (None, None)],
)
def test_gloo_is_bound_to_no_device(device: Any, bound: Any, recwarn: Any) -> None:
    assert groups.bound_device(device) is bound
    assert not list(recwarn)


def test_more_than_one_device_id_is_torchs_error() -> None:
    seen: list[Any] = []
    initialize = shims_distributed.ddp_init(lambda self, *rest: seen.append(rest))
    model = nn.Module()
    model.process_group = None  # type: ignore[assignment]  # stands in for DDP
    initialize(model, nn.Linear(1, 1), [0, 1])
    assert seen[0][1] == [0, 1]


# -- one process, one device --------------------------------------------------------------------


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def test_scatter_splits_what_holds_tensors() -> None:
    batch = torch.arange(6.0).view(3, 2)
    parts = parallel.scatter({"x": batch, "names": ["a", batch], "n": 1}, [0, 1])
    assert [part["x"].tolist() for part in parts] == [batch[:2].tolist(), batch[2:].tolist()]
    assert parts[1]["n"] == 1 and parts[1]["names"][0] == "a"
    assert len(parallel.scatter(batch[:1], [0, 1])) == 1  # fewer rows than devices
    assert isinstance(parallel.scatter(batch, [0]), tuple)


def test_gather_joins_what_scatter_split() -> None:
    batch = {"x": torch.arange(6.0).view(3, 2), "none": None}
    joined = parallel.gather(parallel.scatter(batch, [0, 1, 2]), -1)
    assert joined["none"] is None and torch.equal(joined["x"], batch["x"])
    assert parallel.gather([torch.tensor(1.0), torch.tensor(2.0)], -1).tolist() == [1, 2]
    with pytest.raises(ValueError, match="same number of keys"):
        parallel.gather([{"a": torch.ones(1)}, {}], -1)


def test_replicas_see_their_share_and_train_the_network() -> None:
    whole, parts = network(), network()
    batch = torch.randn(4, 3)
    replicas = parallel.replicate(parts, [0, 1])
    shares = parallel.scatter((batch,), [0, 1])
    outputs = parallel.parallel_apply(replicas, shares, devices=[0, 1])
    parallel.gather(outputs, -1).sum().backward()
    expected = torch.cat([copy.deepcopy(whole)(share) for (share,) in shares])
    assert torch.equal(torch.cat(outputs), expected)
    torch.cat([whole(share) for (share,) in shares]).sum().backward()
    for mine, reference in zip(parts.parameters(), whole.parameters(), strict=True):
        assert mine.grad is not None and torch.allclose(mine.grad, reference.grad)
    # Only the first replica writes into the network's own buffers.
    once = network()
    once(shares[0][0])
    assert torch.equal(parts[1].running_mean, once[1].running_mean)


def test_detached_replicas_have_no_graph() -> None:
    (replica,) = parallel.replicate(network(), [0], detach=True)
    assert not replica(torch.randn(4, 3)).requires_grad


def test_parallel_apply_wants_equal_lengths() -> None:
    with pytest.raises(AssertionError, match="number of devices 1"):
        parallel.parallel_apply([network(), network()], [(), ()], devices=[0])


@on_cpu
def test_data_parallel_is_the_module() -> None:
    module, batch = network().eval(), torch.randn(4, 3)
    found = parallel.data_parallel(module, batch, device_ids=[0, 1])
    assert torch.equal(found, module(batch))
    assert torch.equal(parallel.data_parallel(module, None, module_kwargs={"input": batch}), found)


@on_cpu
def test_data_parallel_class_has_its_attributes() -> None:
    wrapped: Any = nn.DataParallel.__new__(nn.DataParallel)
    ids = [0, 1]
    module = network().eval()
    shims_distributed.data_parallel_init(nn.DataParallel.__init__)(wrapped, module, ids, dim=0)
    assert (wrapped.module, wrapped.output_device, wrapped.dim) == (module, 0, 0)
    assert ids == [0, 1]
    batch = torch.randn(4, 3)
    assert torch.equal(wrapped(batch), module(batch))
    assert list(wrapped.state_dict())[0].startswith("module.")
