"""The native kernels give what Python's give, count what Python's count, and leave alone what somebody listens to."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import tdev
import torch
import torch.nn.functional as F

from tdev_core.accelerators import lagging
from tdev_core.accelerators.privateuse import waits
from tdev_core.accelerators.sim import faults, listening, memory, native, refusals

pytestmark = pytest.mark.skipif(
    native.load() is None,
    reason="the native kernels are not built: tests/accelerators/sim/test_native.py builds them and runs this",
)


@pytest.fixture(autouse=True)
def on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(listening, "_listeners", set())  # a trace that a test before has begun
    torch.ones(1, device="sim:0")  # the first operator of a thread is Python's
    with native.using(True):
        yield


def x() -> torch.Tensor:
    return torch.linspace(-2, 2, 12).reshape(3, 4).to("sim:0")


def both(call: Callable[[], Any]) -> tuple[Any, Any, int]:
    """What ``call`` gives with the native kernels and without, and how many calls they answered."""
    began = native.answered()
    ours = call()
    counted = native.answered() - began
    with native.using(False):
        return ours, call(), counted


def same(ours: Any, theirs: Any) -> None:
    if isinstance(ours, (list, tuple)):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
        return
    if not isinstance(ours, torch.Tensor):
        assert ours == theirs
        return
    torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=0, atol=0, equal_nan=True)
    assert (ours.dtype, ours.device, ours.stride(), ours.storage_offset(), ours.requires_grad) == (
        theirs.dtype, theirs.device, theirs.stride(), theirs.storage_offset(), theirs.requires_grad,
    )  # fmt: skip


def gradients() -> list[torch.Tensor]:
    a = x().requires_grad_()
    (g,) = torch.autograd.grad((a.sin() * a).exp().sum(1).sum(), a, create_graph=True)
    return [g, *torch.autograd.grad((g * g).sum(), a)]


def attention() -> list[torch.Tensor]:
    q, k = (
        torch.linspace(-1, n, 64).reshape(1, 2, 4, 8).to("sim:0").requires_grad_() for n in (1, 2)
    )
    out = F.dropout(F.scaled_dot_product_attention(q, k, q, is_causal=True), 0.0)
    out.square().sum().backward()
    with torch.no_grad():
        return [out, q.grad, k.grad, F.scaled_dot_product_attention(q, k, k)]  # type: ignore[list-item]  # grads are there


SCRIPTED = torch.jit.CompilationUnit("""
def indexed(x, i):
    x[i] = 1.0
    x[x < 0] = 2.0
    return [x, x[:, i]]
""")


ANSWERED: dict[str, Callable[[], Any]] = {
    "numbers": lambda: x() * 2 + 0.5,
    "a CPU tensor without dimensions": lambda: x() + torch.tensor(3.0),
    "transposed, in part, broadcast": lambda: x().t()[1:, ::2] + x()[:1, :3].t(),
    "views": lambda: [x().view(4, 3), x().unfold(1, 2, 2), x().expand(2, 3, 4), x()[1], *x().split(2)],
    "two results": lambda: list(x().max(1)),
    "a list, and a list of results": lambda: [torch.cat([x(), x()]), *torch._foreach_mul([x(), x()], 2.0)],
    "indices here and on the CPU": lambda: [x()[x().argmax(0) - 1], x()[torch.tensor([2, 0])]],
    "indices that TorchScript lists": lambda: SCRIPTED.indexed(x(), x().argmax(0) - 1),
    "in place": lambda: x().mul_(2).add_(x(), alpha=3),
    "in place, through a view": lambda: (lambda a: (a.t()[1:].zero_(), a))(x())[1],
    "in place, of a list": lambda: (lambda xs: (torch._foreach_add_(xs, 1.0), xs))([x(), x()])[1],
    "twice the same": lambda: (lambda a: a.add_(a))(x()),
    "out=": lambda: torch.mul(x(), 2, out=torch.zeros(3, 4, device="sim:0")),
    "out= of another shape": lambda: torch.mul(x(), 2, out=torch.zeros(0, device="sim:0")),
    "complex, conjugated": lambda: (x() * 1j).conj().mm((x() * 1j).t()),
    "another dtype": lambda: [x().double(), x().half() + x(), (x() > 0).sum()],
    "new tensors": lambda: [torch.full((2, 3), 1.5, device="sim:0"), torch.zeros_like(x()), x().new_ones(2)],
    "no elements": lambda: x()[:0] + 1,
    "running statistics": lambda: F.batch_norm(x(), x()[0].clone(), x()[1].abs(), training=True),
    "inference mode": lambda: torch.inference_mode()(lambda: x() + 1.0)(),
    "gradients of gradients": gradients,
    "attention": attention,
}  # fmt: skip


@pytest.mark.parametrize("what", ANSWERED)
def test_what_is_simple_is_answered_as_by_python(what: str) -> None:
    ours, theirs, counted = both(ANSWERED[what])
    same(ours, theirs)
    assert counted >= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a + torch.ones(3, 4),
        lambda a: a + torch.ones(3, 4, device="sim:1"),
        lambda a: a + torch.ones(5, device="sim:0"),
        lambda a: a[0].add_(a),
        lambda a: torch.mm(a, a),
        lambda a: torch.cat([a, a.sum(0)]),
        lambda a: a.t().view(12),
        lambda a: torch.empty(1 << 45, device="sim:0"),
    ],
)
def test_errors_are_those_of_python(call: Callable[[torch.Tensor], Any]) -> None:
    errors = []
    for on in (True, False):
        with native.using(on), pytest.raises(RuntimeError) as caught:
            call(x())
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_memory_is_counted_as_by_python() -> None:
    """Now, at its peak and in all, also where a tensor lives on in a view, is resized, or in a graph alone."""

    def call() -> list[int]:
        gc.collect()
        pool = memory.pool(0)
        start, began = pool.allocated, pool.bytes.risen
        pool.reset_peak()
        a = torch.ones(1000, device="sim:0")
        view = (a + a)[10:20]
        seen = [pool.allocated - start]
        a.resize_(3000)
        seen.append(pool.allocated - start)
        w = torch.ones(50, device="sim:0", requires_grad=True)
        loss = (w * 2).exp().sum()
        seen.append(pool.allocated - start)
        del view, a
        seen.append(pool.allocated - start)
        loss.backward()
        del loss
        seen.append(pool.allocated - start)
        return [*seen, pool.bytes.peak - start, pool.bytes.risen - began]

    ours, theirs, counted = both(call)
    assert ours == theirs and counted > 3
    assert ours[0] == 8000


def test_a_device_that_is_full_says_so_and_counts_nothing() -> None:
    a, pool = torch.ones(1000, device="sim:0"), memory.pool(0)
    held, refused = pool.allocated, pool.ooms
    try:
        pool.fraction = (held + 5000) / pool.total
        b = a + a
        with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate 3.91 KiB"):
            a + a
        assert (pool.allocated, pool.ooms) == (held + 4000, refused + 1)
        del b
        a + a
    finally:
        pool.fraction = 1.0


def test_a_resize_that_does_not_fit_gives_the_old_size_back() -> None:
    a, pool = torch.arange(1000.0, device="sim:0") + 0, memory.pool(0)
    held = pool.allocated
    try:
        pool.fraction = (held + 5000) / pool.total
        with pytest.raises(torch.OutOfMemoryError):
            a.untyped_storage().resize_(1 << 20)
    finally:
        pool.fraction = 1.0
    assert (pool.allocated, a.untyped_storage().nbytes(), float(a[999])) == (held, 4000, 999.0)


def test_what_is_moved_to_shared_memory_stays_counted() -> None:
    a = torch.arange(1000.0, device="sim:0") + 0
    held = memory.pool(0).allocated
    a.untyped_storage().share_memory_()  # type: ignore[no-untyped-call]  # torch gives it no types
    assert a.untyped_storage().is_shared() and memory.pool(0).allocated == held
    assert float((a + 1).sum()) == 500500.0


def test_faults_are_heard_of() -> None:
    began = native.answered()
    try:
        faults.configure((faults.Fault("oom", call=2), faults.Fault("xid", call=4)))
        a = torch.ones(3, device="sim:0")
        with pytest.raises(torch.OutOfMemoryError):
            a + a
        with pytest.raises(torch.AcceleratorError):
            for _ in range(4):
                a + a
    finally:
        faults.configure(())
    assert native.answered() == began
    a + a
    assert native.answered() == began + 1


def test_refusals_are_heard_of() -> None:
    a, seen = x(), list[str]()
    try:
        refusals.add(lambda op, args, kwargs: seen.append(op.name()))
        a + a
    finally:
        refusals.clear()
    assert seen == ["aten::add.Tensor"] and not listening.anybody()


def test_waits_are_seen() -> None:
    a = x()
    mask, before = a > 0, waits.total()
    a[mask], a.sum().item(), a.cpu(), a.nonzero()
    assert waits.total() == before + 4
    a[a.argmax(0)], a.double(), a.clone().copy_(a)
    assert waits.total() == before + 4


def test_random_numbers_are_the_same() -> None:
    def call() -> list[torch.Tensor]:
        torch.manual_seed(3)
        return [torch.randn(4, device="sim:0"), F.dropout(x(), 0.5), x().bernoulli_(0.5)]

    ours, theirs, _ = both(call)
    same(ours, theirs)


def test_attention_notices_that_its_input_was_changed() -> None:
    q = torch.ones(1, 1, 2, 4, device="sim:0", requires_grad=True) * 1
    out = F.scaled_dot_product_attention(q, q, q)
    with torch.no_grad():
        q.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_the_first_operation_of_a_thread_is_pythons_which_prepares_it() -> None:
    seen = list[int]()

    def work() -> None:
        w = torch.ones(3, device="sim:1", requires_grad=True)
        for _ in range(2):
            began = native.answered()
            w.square().sum().backward()  # on device 1, for which torch has no worker
            seen.append(native.answered() - began)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen) == 2 and seen[1] > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
def test_a_child_of_fork_is_told_that_it_cannot() -> None:
    a = x()
    child = os.fork()
    if child == 0:
        try:
            a + a
        except RuntimeError as error:
            os._exit(3 if "forked subprocess" in str(error) else 4)
        os._exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3


def test_storages_are_one_object_and_have_one_host() -> None:
    a = x() + 1
    assert a.untyped_storage() is a.t().untyped_storage()
    host = memory.host_of(a.untyped_storage())
    assert memory.adopt(host, 0) is a.untyped_storage()
    assert host.data_ptr() == a.untyped_storage().data_ptr()
    with pytest.raises(RuntimeError, match="was not made by tdev"):
        memory.host_of(torch.ones(1).untyped_storage())


def test_factories_make_pinned_memory() -> None:
    """Of torch's own too, which asks the device's hooks for an allocator; a view and a grown tensor are still of it."""
    for make in (torch.empty, torch.zeros, torch.rand):
        assert make(3, pin_memory=True).is_pinned() and not make(3).is_pinned()
    pinned = torch.tensor([1.0, 2.0], pin_memory=True)
    assert pinned[1:].is_pinned() and pinned.tolist() == [1.0, 2.0]
    assert pinned.resize_(100).is_pinned() and not pinned.clone().is_pinned()
    assert (
        tdev.empty(3, pin_memory=True).is_pinned()
        and not tdev.empty(3, pin_memory=False).is_pinned()
    )
    assert not tdev.full((2,), 1.0, device="cuda", pin_memory=False).is_pinned()


class InStream(torch.autograd.Function):
    """Notes the stream on which its backward runs."""

    seen: list[Any] = []

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        InStream.seen.append((gradient.device, tdev.cuda.current_stream(gradient.device)))
        return gradient * 2


@pytest.mark.parametrize("index", [0, 1])
def test_backward_runs_on_the_stream_of_the_forward(index: int) -> None:
    """ "Stream semantics of backward passes" in torch's notes on CUDA."""
    InStream.seen.clear()
    forward, around = tdev.cuda.Stream(index), tdev.cuda.Stream(index)
    x = torch.ones(3, device=f"sim:{index}", requires_grad=True)
    with tdev.cuda.stream(forward):
        y = cast("Any", InStream).apply(x)
    with tdev.cuda.stream(around):
        y.sum().backward()
        assert tdev.cuda.current_stream(index) == around
    assert InStream.seen == [(x.device, forward)]
    assert tdev.cuda.current_stream(index) == tdev.cuda.default_stream(index)
    assert x.grad is not None and x.grad.tolist() == [2.0] * 3


def test_what_comes_after_backward_waits_for_the_streams_that_it_ran_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("asked", "_until"):  # as they were, when this is over
        monkeypatch.setattr(lagging, name, getattr(lagging, name))
    forward, default = tdev.cuda.Stream(), tdev.cuda.default_stream()
    x = torch.ones(3, device="sim", requires_grad=True)
    with tdev.cuda.stream(forward):
        y = x * 2
        tdev.cuda._sleep(200_000_000)
    y.sum().backward()
    assert not default.query()
    default.synchronize()
    assert forward.query()


def test_torchs_own_functions_know_the_current_stream() -> None:
    """Those of ``torch.accelerator``, which ask C++; libraries call them, and are not rewritten."""
    mine = tdev.cuda.Stream()
    with tdev.cuda.stream(mine):
        assert torch._C._accelerator_getStream(0).stream_id == mine.stream_id
    assert torch._C._accelerator_getStream(0).stream_id == 0


def test_a_stream_of_the_generic_api_is_of_the_one_device() -> None:
    """Of several devices torch's C++ does not know the current one: this process has two."""
    with pytest.raises(RuntimeError, match="made where there is one 'sim' device"):
        torch.Stream(1)
