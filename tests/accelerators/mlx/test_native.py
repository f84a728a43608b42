"""The native kernels give what Python's give, answer what they are for, and leave everything else alone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import mlx.core as mx
import pytest
import torch

from tdev_core.accelerators.mlx import layout, native, runtime, setup
from tdev_core.accelerators.mlx.dispatch import derive
from tdev_core.accelerators.mlx.native import library as loaded
from tdev_core.accelerators.mlx.registry import OPERATORS
from tests.accelerators.mlx import opdb
from tests.accelerators.mlx.conftest import CACHE
from tests.accelerators.mlx.models import MODELS, losses
from tests.accelerators.mlx.programs import locked, run
from tests.accelerators.mlx.test_direct import SHORT, calls

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))),
    reason="the native kernels are built with a C++ compiler",
)


@pytest.fixture(scope="module")
def library() -> Iterator[None]:
    """Build and start the native kernels; they answer in no other module's tests unless the environment asks for them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TDEV_NATIVE", "1")
        patch.setenv("TDEV_CACHE_DIR", str(CACHE))
        with locked(CACHE / "native.lock"):
            native.LIBRARY.build()
        began_here = loaded._kernels.module is None
        if began_here:
            setup.put_native_before()
            loaded._kernels.module.enable(False)
        yield


@pytest.fixture(autouse=True)
def on(library: None) -> Iterator[None]:
    with native.using(True):
        yield


def both(call: Callable[[], Any]) -> tuple[Any, Any, int]:
    """What `call` gives with the native kernels and without, and how many calls they answered."""
    began = native.answered()
    ours = call()
    counted = native.answered() - began
    with native.using(False):
        return ours, call(), counted


def same(ours: Any, theirs: Any) -> None:
    if not isinstance(ours, torch.Tensor):
        assert ours == theirs
        return
    torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=0, atol=0, equal_nan=True)
    assert (ours.dtype, ours.device, ours.stride(), ours.requires_grad) == (
        theirs.dtype,
        theirs.device,
        theirs.stride(),
        theirs.requires_grad,
    )


def operator(overload: str) -> Any:
    return setup.find(*overload.split(".", 1))


# torch differentiates the others through their parts, which have kernels.
EAGER = [name for name in SHORT if not setup._differentiates_by_parts(name)]


@pytest.mark.parametrize("overload", EAGER)
def test_float32_is_answered_as_by_python(overload: str) -> None:
    for arguments in calls(overload):
        ours, theirs, counted = both(lambda: operator(overload)(*arguments))  # noqa: B023
        same(ours, theirs)
        assert counted == 1


IN_PLACE = sorted(
    full
    for name in EAGER
    for full in derive.derived(*name.split(".", 1))[0]
    if full not in OPERATORS and not setup._differentiates_by_parts(full)
)


@pytest.mark.parametrize("overload", IN_PLACE)
def test_in_place_forms_write_to_the_tensor_they_are_given(overload: str) -> None:
    kinds = [str(a.type) for a in operator(overload)._schema.arguments if not a.kwarg_only]
    start = torch.linspace(0.1, 0.9, 12).reshape(3, 4)

    def call() -> Any:
        x = start.to("mlx")
        alias = x.view(12)
        others: tuple[Any, ...] = ()
        if len(kinds) > 1:
            others = (torch.full((4,), 2.0).to("mlx") if kinds[1] == "Tensor" else 2.0,)
        counted = native.answered()
        out = operator(overload)(x, *others)
        assert out is x
        return [x, alias, native.answered() - counted]

    ours, theirs, _ = both(call)
    same(ours[0], theirs[0])
    same(ours[1], ours[0].view(12))
    assert (ours[2], theirs[2]) == (1, 0)


def x() -> torch.Tensor:
    return torch.linspace(-2, 2, 12).reshape(3, 4).to("mlx")


LEFT: dict[str, Callable[[], Any]] = {
    "a complex number": lambda: x() * 1j,
    "a number beyond int64": lambda: x() + 2**63,
    "a dtype": lambda: torch.sum(x(), 0, dtype=torch.int64),
    "a negated view": lambda: torch.clamp(torch._neg_view(x()), 0),
    "a conjugated view": lambda: torch.mm((x() * 1j).conj(), (x() * 1j).t()),
    "in place, part of a storage": lambda: x()[:, 1].add_(1),
    "in place, transposed": lambda: x().t().add_(1),
    "in place, another type": lambda: x().half().add_(x()),
    "tensors of the host": lambda: x().double() + x().double(),
    "indices on the CPU": lambda: x()[torch.tensor([2, 0])],
    "a number as the result": lambda: torch.equal(x(), x()),
}


@pytest.mark.parametrize("what", LEFT)
def test_the_rest_is_left_to_python(what: str) -> None:
    ours, theirs, _ = both(LEFT[what])
    same(ours, theirs)


@pytest.mark.parametrize(
    "what", ["a dtype", "in place, part of a storage", "a number as the result"]
)
def test_what_is_left_is_not_counted(what: str) -> None:
    assert both(LEFT[what])[2] == 0


ANSWERED: dict[str, Callable[[], Any]] = {
    "a number": lambda: x() * 2,
    "a float": lambda: 0.1 + x(),
    "a number beyond int32": lambda: x() + 2**40,
    "a view of everything": lambda: x().view(12).exp(),
    "a part": lambda: x()[1:, ::2] * x()[1:, 1::2],
    "transposed": lambda: x().t() + x().t(),
    "broadcast": lambda: x() + x()[:1],
    "a CPU tensor without dimensions": lambda: x() + torch.tensor(3.0),
    "no dimensions": lambda: x().sum((0, 1)).exp(),
    "no elements": lambda: x()[:0] + 1.0,
    "a list": lambda: torch.cat([x(), x()[:1]]),
    "a bias": lambda: torch.nn.functional.linear(x(), x(), torch.ones(3).to("mlx")),
    "another element type": lambda: x().half() + x().half(),
    "two element types": lambda: x() + x().half(),
    "integers": lambda: x().int() + x().int(),
    "integers and a number": lambda: x().int() * 2 + 2.5,
    "a bool": lambda: x() * True,
    "a comparison": lambda: torch.where(x() > 0, x(), -1.0),
    "alpha": lambda: torch.add(x(), x(), alpha=3),
    "alpha in place": lambda: x().add_(x(), alpha=3),
    "a word by name": lambda: torch.nn.functional.gelu(x(), approximate="tanh"),
    "two results": lambda: torch.cat([x().max(1).values, x().max(1).indices.float()]),
    "an element type that MLX has and numpy has not": lambda: torch.mm(
        x().bfloat16(), x().t().bfloat16()
    ),
    "reduced to integers": lambda: x().argmax(1),
    "inference mode": lambda: torch.inference_mode()(lambda: x() + 1.0)(),
}


@pytest.mark.parametrize("what", ANSWERED)
def test_forms_that_are_answered(what: str) -> None:
    ours, theirs, counted = both(ANSWERED[what])
    same(ours, theirs)
    assert counted >= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a + torch.ones(3, 4),
        lambda a: a + torch.ones(5).to("mlx"),
        lambda a: torch.mm(a, a),
        lambda a: a[0].add_(a),
        lambda a: torch.cat([a, a.sum(0)]),
        lambda a: torch.sum(a, 7),
    ],
)
def test_errors_are_those_of_python(call: Callable[[torch.Tensor], Any]) -> None:
    errors = []
    for on in (True, False):
        with native.using(on), pytest.raises((RuntimeError, IndexError)) as caught:
            call(x())
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_views_share_the_storage() -> None:
    a = x()
    views = [a.view(4, 3), a.t(), a[1:], a.unfold(1, 2, 2), a.reshape(2, 6), a.expand(2, 3, 4)]
    a.mul_(10)
    for view, expected in zip(
        views,
        [a.cpu().view(4, 3), a.cpu().t(), a.cpu()[1:], a.cpu().unfold(1, 2, 2), a.cpu().reshape(2, 6),
         a.cpu().expand(2, 3, 4)],
        strict=True,
    ):  # fmt: skip
        assert view.tolist() == expected.tolist()
        assert view.untyped_storage().data_ptr() == a.untyped_storage().data_ptr()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        a.t().view(12)


def test_arrays_kept_channels_last_stay_so() -> None:
    image, weight = torch.randn(1, 4, 6, 8).to("mlx"), torch.randn(5, 4, 3, 3).to("mlx")
    convolved = torch.nn.functional.conv2d(image, weight)
    ours, theirs, counted = both(lambda: torch.relu(convolved) * 2)
    same(ours, theirs)
    assert counted == 2
    assert id(ours.untyped_storage()._mx) in layout.below


def test_an_exception_of_the_function_asks_python_and_an_interrupt_does_not() -> None:
    raised: list[type[BaseException]] = []

    def failing(a: Any) -> Any:
        if raised:
            raise raised[0]("on purpose")
        return mx.floor(a)

    native.before(torch.ops.aten.trunc.default, failing)
    a = x()
    same(torch.trunc(a), torch.floor(a))  # the function answers
    raised[:] = [ValueError]
    same(torch.trunc(a), torch.trunc(a.cpu()).to("mlx"))
    raised[:] = [KeyboardInterrupt]
    try:
        with pytest.raises(KeyboardInterrupt):
            torch.trunc(a)
    finally:
        raised[:] = [ValueError]  # for good: from here on trunc is Python's, as it was


def test_the_first_operation_on_a_thread_is_pythons_which_adopts_the_stream() -> None:
    a, seen = x(), list[int]()

    def work() -> None:
        for _ in range(2):
            began = native.answered()
            (a + a).tolist()
            seen.append(native.answered() - began)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [0, 1]


def test_results_are_remembered_until_they_are_handed_in() -> None:
    a = x()
    runtime.drain()
    b = a + 1.0
    b.mul_(2.0)
    assert [ref() for ref in runtime._local.pending][1] is b.untyped_storage()._mx  # type: ignore[attr-defined]
    most = 0
    for _ in range(2 * runtime.PENDING_LIMIT):
        b = b + 1.0
        most = max(most, len(runtime._local.pending))
    assert most == runtime.PENDING_LIMIT


def test_the_memory_of_results_is_given_back() -> None:
    a = torch.ones(256, 256).to("mlx")
    (a + 1).tolist()
    before = mx.get_active_memory()
    b = a
    for _ in range(2000):
        b = b * 0.5 + 1.0
    assert b[0, 0].item() == 2.0
    del b
    assert mx.get_active_memory() - before < 2**20


def test_gradients_of_gradients() -> None:
    def call() -> Any:
        a = x().requires_grad_()
        (g,) = torch.autograd.grad((a.sin() * a).exp().sum(1).sum(), a, create_graph=True)
        return torch.autograd.grad((g * g).sum(), a)[0]

    ours, theirs, counted = both(call)
    same(ours, theirs)
    assert counted > 5


@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_same_losses(name: str, fallbacks: dict[str, int]) -> None:
    ours, theirs, counted = both(lambda: losses(name, "mlx"))
    assert ours == theirs
    assert counted > 10
    assert not fallbacks


_NAMES = {name.split(".")[0].lstrip("_") for name in SHORT}


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        pytest.param(op, kind, id=f"{opdb.name_of(op)}-{kind}")
        for op in opdb.database()
        for kind in opdb.KINDS
        if {op.name, op.name.rpartition(".")[2], op.aten_name} & _NAMES
        and opdb.applies(op, kind, torch.float32)
        and not opdb.skip_reason(opdb.name_of(op), kind, "float32")
    ],
)
def test_torchs_operator_database(op: Any, kind: str) -> None:
    outcome = opdb.run(op, kind, torch.float32)
    assert outcome.status != "fail", outcome.message


def test_a_child_of_fork_is_told_why_it_cannot() -> None:
    code = """
import os, sys
import torch, tdev_core.accelerators.mlx
tdev_core.accelerators.mlx.activate()
from tdev_core.accelerators.mlx import native
x = torch.ones(3).to("mlx")
x + x
assert native.answered() == 1
child = os.fork()
if child == 0:
    try:
        x + x
    except NotImplementedError as error:
        os._exit(3 if "do not survive fork()" in str(error) else 4)
    os._exit(5)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = run(code)
    assert done.returncode == 3, done.stderr
