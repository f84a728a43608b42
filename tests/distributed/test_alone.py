"""Groups of one rank, in this process: what a program reads of them, and what reaches torch."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from torch.distributed import device_mesh

from tdev_core.backend import Backend, current
from tdev_core.distributed import (
    backend_names,
    collectives,
    group_backends,
    groups,
    host_copies,
    mesh,
    parallel,
)
from tests.forkserver import environment, python

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="what names become is asserted for the cpu backend"
)


def begin(backend: str | None = None, **more: Any) -> None:
    groups.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1, **more)


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.parametrize(
    ("asked", "device_id", "backend", "config"),
    [
        ("nccl", None, "nccl", "cuda:nccl"),
        ("NCCL", 0, "nccl", "cuda:nccl"),
        ("gloo", None, "gloo", "cpu:gloo,cuda:gloo"),
        ("cpu:gloo,cuda:nccl", None, "cpu:gloo,cuda:nccl", "cpu:gloo,cuda:nccl"),
        # Without a name torch picks NCCL for a CUDA device, which an int is, and gloo on a host without one.
        (None, 0, "nccl", "cuda:nccl"),
        (None, torch.device("cuda", 0), "nccl", "cuda:nccl"),
        (None, torch.device("cpu"), "gloo", "cpu:gloo,cuda:gloo"),
        (
            None,
            None,
            "undefined",
            "cpu:gloo,cuda:gloo" if torch.cuda.is_available() else "cpu:gloo",
        ),
    ],
)
def test_a_group_is_called_what_the_program_called_it(
    asked: str | None, device_id: Any, backend: str, config: str
) -> None:
    begin(asked, device_id=device_id)
    assert group_backends.get_backend() == backend
    assert group_backends.get_backend_config() == config
    assert "nccl" not in dist.get_backend_config()  # torch is told the truth
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [1, 1]


@pytest.mark.parametrize("world", ["gloo", "nccl"])
@pytest.mark.parametrize("asked", [None, "gloo", "nccl"])
def test_groups_inherit_their_name_or_have_their_own(world: str, asked: str | None) -> None:
    begin(world)
    one = groups.new_group([0], backend=asked)
    _, some = groups.new_subgroups(1, backend=asked)
    _, listed = groups.new_subgroups_by_enumeration([[0]], backend=asked)
    split = groups.split_group(split_ranks=[[0]], backend=asked)
    for group in (one, *some, *listed, split):
        assert group_backends.get_backend(group) == (asked or world)
        assert dist.get_backend(group) == "gloo"
        assert dist.get_process_group_ranks(group) == [0]


def test_subgroups_without_a_size_have_that_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    begin()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    mine, every = groups.new_subgroups()
    assert every == [mine] and dist.get_process_group_ranks(mine) == [0]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")  # more than there are ranks
    assert dist.get_world_size(groups.new_subgroups(1)[0]) == 1
    with pytest.raises(ValueError, match="world size"):
        groups.new_subgroups()


@pytest.mark.parametrize(
    ("split", "said"),
    [([[]], "empty"), ([[0, 0]], "duplicate"), ([[1]], r"\[1\]"), ([[-1]], r"\[-1\]")],
)
def test_a_split_that_is_none(split: list[list[int]], said: str) -> None:
    begin()
    with pytest.raises(ValueError, match=said):
        groups.split_group(split_ranks=split)


def test_a_mesh_has_the_library_of_each_dimension() -> None:
    import torch.testing._internal.distributed.fake_pg  # registers "fake"

    assert torch.testing._internal.distributed.fake_pg
    begin("gloo")
    override: dict[int | str, Any] = {"a": "nccl", "b": "fake"}
    found = mesh.init_device_mesh(
        "cuda", (1, 1, 1), mesh_dim_names=("a", "b", "c"), backend_override=override
    )
    assert found.mesh_dim_names == ("a", "b", "c") and found.device_type == "cpu"
    named = {name: group_backends.get_backend(found.get_group(name)) for name in "abc"}
    assert named == {"a": "nccl", "b": "fake", "c": "gloo"}
    truth = {name: dist.get_backend(found.get_group(name)) for name in "abc"}
    assert truth == {"a": "gloo", "b": "fake", "c": "gloo"}
    of_nccl = object()
    both = mesh.init_device_mesh("cuda", (1,), backend_override={0: ("nccl", of_nccl)})
    assert group_backends.get_backend(both.get_group(0)) == "nccl"
    with pytest.raises(RuntimeError):
        mesh.init_device_mesh("cuda:0", (1,))
    assert isinstance(mesh.init_device_mesh("cpu", (1,)), device_mesh.DeviceMesh)


def test_options_reach_the_library_they_are_made_for() -> None:
    options = object()
    for asked in (None, "gloo", "fake", "cpu:gloo"):
        assert groups.own_options(asked, options) is options
    for asked in ("nccl", "cuda:nccl", "xccl"):
        assert groups.own_options(asked, options) is None


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "xpu:1", "cpu", 5, torch.device("cuda", 3)])
def test_every_device_of_a_rank_is_its_cpu(device: Any, recwarn: Any) -> None:
    """Ranks count their devices from 0; none is warned that there are not so many."""
    assert groups.is_own_cpu(device) and groups.bound_device(device) is None
    assert not list(recwarn)


@pytest.mark.parametrize("device", [True, 1.5, "no device", None, torch.device("meta")])
def test_what_is_no_device_is_torchs_to_refuse(device: Any) -> None:
    assert not groups.is_own_cpu(device)
    if not isinstance(device, torch.device):
        assert groups.bound_device(device) is device


def test_the_library_of_a_device_is_torchs() -> None:
    for kind in dist.Backend.default_device_backend_map:
        expected = dist.get_default_backend_for_device(kind)
        for device in (kind, f"{kind}:0", torch.device(kind)):
            assert group_backends.get_default_backend_for_device(device) == expected
    for kind in ("sim", "mlx"):
        assert group_backends.get_default_backend_for_device(kind) == "nccl"
    with pytest.raises(RuntimeError, match="Invalid device string"):
        group_backends.get_default_backend_for_device("no device")


def test_which_backends_are_available() -> None:
    found = {
        name: group_backends.is_backend_available(name)
        for name in ("nccl", "xccl", "gloo", "cuda:nccl", "cpu:gloo,cuda:nccl", "cpu:none", "none")
    }
    wrong = {"cpu:none", "none"}
    assert found == {name: name not in wrong for name in found}


# -- scattering of sums ---------------------------------------------------------------------------


def scattered(output: torch.Tensor) -> Any:
    return collectives.reduce_scatter_tensor(
        output, torch.arange(2.0), dist.ReduceOp.SUM, None, True
    )


def test_work_is_completed_once_it_was_waited_for() -> None:
    begin("nccl")
    for _ in range(20):
        output = torch.zeros(2)
        work = scattered(output)
        assert work.wait() is True and output.tolist() == [0, 1]
        assert work.is_completed() is True and work.is_success() is True
        assert work.result()[0] is output
    threads = [one for one in threading.enumerate() if "_complete" in one.name]
    assert not threads  # nobody had asked for a future


def test_who_waits_for_work_finds_its_future_done() -> None:
    begin("nccl")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            work = scattered(torch.zeros(2))
            future = work.get_future()
            assert work.get_future() is future
            assert work.wait() is True
            assert future.done()
    finally:
        sys.setswitchinterval(before)


def test_synchronous_sums_have_no_work() -> None:
    begin("nccl")
    output = torch.zeros(2)
    given = (torch.arange(2.0), dist.ReduceOp.SUM, None, False)
    assert collectives.reduce_scatter_tensor(output, *given) is None
    assert output.tolist() == [0, 1]


# -- the environment ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GLOO_SOCKET_IFNAME", None])
def test_no_interface_is_asked_for(
    name: str | None, monkeypatch: pytest.MonkeyPatch, recwarn: Any
) -> None:
    monkeypatch.delenv("NCCL_SOCKET_IFNAME", raising=False)
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    monkeypatch.setattr(backend_names, "_interfaces", lambda: ["lo", "eth0"])
    if name:  # both are set: gloo's own variable is the one for gloo
        monkeypatch.setenv("NCCL_SOCKET_IFNAME", "eth")
        monkeypatch.setenv(name, "mine")
    backend_names.adopt_interface()
    assert os.environ.get("GLOO_SOCKET_IFNAME") == ("mine" if name else None)
    assert not list(recwarn)


BEGUN = """
import os, sys, warnings
warnings.simplefilter("error")
import tdev as torch
import torch.distributed as truth

dist = torch.distributed
dist.init_process_group(store=truth.HashStore(), rank=0, world_size=1)
print(dist.get_backend(), dist.get_backend_config(), truth.get_backend(), "mlx.core" in sys.modules)
tensor = torch.ones(2, device="cuda")
dist.all_reduce(tensor)
assert tensor.tolist() == [1, 1]
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_a_group_without_a_name_serves_the_accelerator(backend: str) -> None:
    """And asks nothing of MLX where that is not what computes, though it has launched the ranks."""
    done = python("-c", BEGUN, env=environment(TDEV_BACKEND=backend, MLX_RANK="0"))
    assert done.returncode == 0, done.stderr
    asked, config, truth, mlx = done.stdout.split()
    assert (asked, mlx) == ("undefined", "False")
    pairs = dict(pair.split(":") for pair in config.split(","))
    assert {"cpu", backend} <= pairs.keys() and set(pairs.values()) == {"gloo"}
    assert truth in ("gloo", "undefined")  # torch is told of no NCCL


SEVERAL = """
import warnings
import tdev as torch
from tdev import nn
from tdev.nn import parallel

first, second, host = torch.device("cuda:0"), torch.device("cuda:1"), torch.device("cpu")
batch = torch.arange(12.0).reshape(4, 3)

class Where(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("seen", torch.zeros(1))
    def forward(self, x, more=0):
        self.seen += 1
        index = torch.cuda.current_device()
        assert x.device == self.scale.device and x.device.index in (index, None), (x.device, index)
        return x * self.scale + more, torch.tensor(float(index))

# one device of several
parts = parallel.scatter({"x": batch, "n": 1}, [0, 1])
assert [part["x"].device for part in parts] == [first, second] and parts[1]["n"] == 1
assert parallel.gather([{"x": part["x"]} for part in parts], 1)["x"].device == second
back = parallel.gather([part["x"] for part in parts], -1)
assert back.device == host and torch.equal(back, batch)

module = Where().cuda()
replicas = parallel.replicate(module, [0, 1])
assert [r.scale.device for r in replicas] == [first, second]
assert replicas[0].scale.data_ptr() == module.scale.data_ptr()
outputs = parallel.parallel_apply(replicas, [part["x"] for part in parts], devices=[0, 1])
assert [int(index) for _, index in outputs] == [0, 1]
outputs = parallel.parallel_apply(replicas, [part["x"] for part in parts])  # by the inputs' devices
assert [int(index) for _, index in outputs] == [0, 1]
on_host = Where()
with torch.cuda.device(0):  # inputs on the host change nothing
    assert int(parallel.parallel_apply([on_host], [batch])[0][1]) == 0
with torch.cuda.device(1):
    assert int(parallel.parallel_apply([on_host], [batch])[0][1]) == 1

module.seen.zero_()
found, indices = parallel.data_parallel(module, batch.cuda(), [0, 1], output_device=1)
assert found.device == second and torch.equal(found.cpu(), batch) and indices.tolist() == [0, 1]
assert module.seen.item() == 1  # what the first replica wrote
found.sum().backward()
assert module.scale.grad.item() == batch.sum()
found, _ = parallel.data_parallel(module, batch.cuda(), module_kwargs={"more": torch.ones(4, 1).cuda()})
assert found.device == first and torch.equal(found.cpu(), batch + 1)
found, _ = parallel.data_parallel(module, batch.cuda(), [0], output_device=-1)
assert found.device == host
for wrong in (Where(), Where().to("cuda:1")):
    try:
        parallel.data_parallel(wrong, batch.cuda(), [0, 1])
    except RuntimeError as error:
        assert "module must have its parameters and buffers on device" in str(error)
    else:
        raise SystemExit("a module on another device was taken")
"""


def test_data_parallel_on_several_devices() -> None:
    done = python("-c", SEVERAL, env=environment(TDEV_BACKEND="sim", TDEV_SIM_DEVICES="2"))
    assert done.returncode == 0, done.stderr


# -- single-process parallelism on one device -------------------------------------------------------

BATCH = torch.arange(4.0)


@pytest.mark.parametrize(
    ("inputs", "kwargs", "given", "named"),
    [
        ((BATCH,), None, [([0, 1],), ([2, 3],)], [{}, {}]),
        ((), {"x": BATCH}, [(), ()], [{"x": [0, 1]}, {"x": [2, 3]}]),
        ((), None, [], []),
        ((), {}, [], []),
        ((BATCH[:1],), {"x": BATCH}, [([0],), ()], [{"x": [0, 1]}, {"x": [2, 3]}]),
        ((BATCH,), {"x": BATCH[:1]}, [([0, 1],), ([2, 3],)], [{"x": [0]}, {}]),
        ((1, "a"), {"n": None}, [(1, "a"), (1, "a")], [{"n": None}, {"n": None}]),
    ],
)
def test_positional_and_keyword_arguments_are_as_many(
    inputs: Any, kwargs: Any, given: Any, named: Any
) -> None:
    def read(value: Any) -> Any:
        return value.tolist() if isinstance(value, torch.Tensor) else value

    found, words = parallel.scatter_kwargs(inputs, kwargs, [0, 1])
    assert [tuple(map(read, one)) for one in found] == given
    assert [{key: read(value) for key, value in one.items()} for one in words] == named


class Two(NamedTuple):
    x: Any
    rest: Any


@pytest.mark.parametrize("empty", [(), [], {}, Two((), []), None, 0, ""])
def test_what_holds_no_tensor_is_repeated(empty: Any) -> None:
    assert list(parallel.scatter(empty, [0, 1])) == [empty, empty]


@pytest.mark.parametrize("nested", [{"a": (BATCH, 1)}, [BATCH, [BATCH]], Two(BATCH, {"b": BATCH})])
def test_what_is_scattered_keeps_its_kind(nested: Any) -> None:
    leaves, shape = torch.utils._pytree.tree_flatten(nested)
    parts = parallel.scatter(nested, [0, 1])
    for number, part in enumerate(parts):
        found, other = torch.utils._pytree.tree_flatten(part)
        assert other == shape
        for leaf, one in zip(leaves, found, strict=True):
            whole = leaf.chunk(2)[number] if isinstance(leaf, torch.Tensor) else leaf
            assert torch.equal(one, whole) if isinstance(whole, torch.Tensor) else one == whole


@pytest.mark.parametrize("detach", [False, True])
def test_replicas_of_buffers_carry_gradients_as_they_did(detach: bool) -> None:
    network: Any = torch.nn.Module()
    network.register_buffer("learnt", torch.ones(2, requires_grad=True))
    network.register_buffer("counted", torch.zeros(2))
    network.register_buffer("none", None)
    network.tied = network.learnt
    replicas = parallel.replicate(network, [0, 1], detach)
    for replica in replicas:
        assert replica.learnt.requires_grad is not detach and not replica.counted.requires_grad
        assert replica.none is None
    # The first shares the network's memory, the others have copies.
    shares = [replica.counted.data_ptr() == network.counted.data_ptr() for replica in replicas]
    assert shares == [True, False]


def test_modules_are_called_with_what_is_theirs() -> None:
    said: list[Any] = []

    class Says(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> int:
            said.append((args, kwargs))
            return len(said)

    modules = [Says(), Says()]
    assert parallel.parallel_apply(modules, [(1, 2), "one"], [{"a": 1}, {}]) == [1, 2]
    assert parallel.parallel_apply(modules, [[], (None,)]) == [3, 4]
    assert said == [((1, 2), {"a": 1}), (("one",), {}), ((), {}), ((None,), {})]
    wrongs: list[dict[str, Any]] = [
        {"inputs": [()]},
        {"kwargs_tup": [{}] * 3},
        {"devices": [0]},
    ]
    for wrong in wrongs:
        (name,) = wrong
        given: dict[str, Any] = {"inputs": [(), ()], **wrong}
        with pytest.raises(AssertionError, match=name):
            parallel.parallel_apply(modules, **given)


def test_joining_needs_parts_of_one_kind() -> None:
    joined = parallel.gather([Two(BATCH, [None, BATCH])] * 2, -1)
    assert (
        isinstance(joined, Two) and joined.x.tolist() == joined.rest[1].tolist() == [0, 1, 2, 3] * 2
    )
    assert joined.rest[0] is None
    wide = parallel.gather([BATCH.view(1, 4)] * 2, -1, dim=1)
    assert wide.tolist() == [[0, 1, 2, 3] * 2]


# -- collectives by way of copies in host memory ------------------------------------------------------


class Done(dist.Work):
    """Work that says whether it was waited for."""

    waited = 0

    def wait(self, timeout: Any = None) -> bool:
        self.waited += 1
        return True

    def is_completed(self) -> bool:
        return True


class Operator:
    """An operator of ``c10d`` that notes what it is given, and returns it with its work."""

    def __init__(self, name: str) -> None:
        self._schema = SimpleNamespace(name=name)
        self.work = Done()
        self.given: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.given = args, kwargs
        boxed = self.work.boxed()
        if self._schema.name.startswith(("c10d::recv", "c10d::send")):
            return boxed
        return args[0], boxed


def test_an_operator_gets_copies_and_the_program_its_tensors() -> None:
    operator = Operator("c10d::allreduce_")
    one, two, meta = torch.ones(2), torch.zeros(3), torch.empty(1, device="meta")
    call = host_copies.kernel(operator, "cpu")
    found, work = call([one, (two, one)], "group", 3, None, meta, more=one)
    (tensors, *rest), kwargs = operator.given
    first, (second, again) = tensors
    assert (
        first is again is kwargs["more"] and first is not one
    )  # one copy, however often it is given
    assert torch.equal(first, one) and torch.equal(second, two) and second is not two
    assert rest == ["group", 3, None, meta] and rest[3] is meta
    assert found[0] is one and found[1][0] is two and found[1][1] is one
    assert operator.work.waited == 1  # the collective is over when it returns
    assert isinstance(work, torch.ScriptObject)


@pytest.mark.parametrize("name", ["recv_", "recv_any_source_", "send", "barrier", "scatter_"])
def test_only_what_is_sent_or_received_may_come_later(name: str) -> None:
    """Two ranks may both post a receive before either sends."""
    operator = Operator(f"c10d::{name}")
    result = host_copies.kernel(operator, "cpu")([torch.ones(2)])
    later = name.startswith(("recv", "send"))
    assert operator.work.waited == (not later)
    if name.startswith("recv"):
        received = dist.Work.unbox(result)
        assert received.is_completed() is True and received.wait() is True
        assert operator.work.waited == 1


def test_torch_is_told_of_unsorted_ranks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch 2.11 has no such parameter, nor would the mirror of it."""
    told: list[dict[str, object]] = []
    monkeypatch.setattr(groups.dist, "new_group", lambda *args, **words: told.append(words))
    groups.new_group([1, 0])
    groups.new_group([1, 0], sort_ranks=False)
    assert told == [{}, {"sort_ranks": False}]


BESIDE_A_GPU = """
import torch
torch._C._get_accelerator = lambda *_: torch.device("cuda")
torch.accelerator.is_available = lambda: True
"""


def test_a_group_without_a_name_on_a_cpu_that_was_asked_for_beside_a_gpu() -> None:
    """torch would pick NCCL, which takes no tensor of a CPU."""
    done = python("-c", BESIDE_A_GPU + BEGUN, env=environment(TDEV_BACKEND="cpu"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[2] == "gloo"


OWN_FORWARD = """
import tdev as torch
from torch import nn

class Own(nn.DataParallel):
    def forward(self, *inputs):
        return self.module(*inputs) if not self.device_ids else super().forward(*inputs)

    def train_step(self, x):
        return self.module(x)

x = torch.ones(1, 2)
own = Own(nn.Linear(2, 2))
print(own(x).device.type, own.train_step(x).device.type, nn.DataParallel(nn.Linear(2, 2))(x).device.type)
print(Own(nn.Linear(2, 2).cuda()).src_device_obj.type)
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_a_data_parallel_class_with_a_forward_of_its_own_keeps_its_module(backend: str) -> None:
    """As torch's constructor leaves it where there is no CUDA: MMCV's hand their inputs on as they are there."""
    done = python("-c", OWN_FORWARD, env=environment(TDEV_BACKEND=backend))
    assert done.stdout.split() == ["cpu", "cpu", backend, backend], done.stderr
