"""A move copies on the CPU backend, however the program came by the device that it moves to."""

from __future__ import annotations

import copy
import copyreg
import gc
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import tdev
import torch as stock
from torch.nn.utils.rnn import pack_sequence

from tdev_core.backend import Backend, current
from tdev_core.devices import THERE
from tdev_core.shims import moved
from tests.programs import run

pytestmark = pytest.mark.skipif(current() is not Backend.CPU, reason="what moves mean on the CPU")

Move = Callable[[Any], Any]


@dataclass
class Settings:
    device: Any = field(default_factory=lambda: tdev.device("cuda"))


def by_default(x: Any, device: Any = tdev.device("cuda")) -> Any:  # noqa: B008  # as programs do
    return x.to(device)


def of_the_default(x: Any) -> Any:
    tdev.set_default_device("cuda")
    try:
        device = tdev.get_default_device()
    finally:
        tdev.set_default_device(None)
    return x.to(device)


def there() -> Any:
    return tdev.ones(2).cuda()


MOVES: dict[str, Move] = {
    "device": lambda x: x.to(tdev.device("cuda")),
    "device with an index": lambda x: x.to(tdev.device("cuda", 0)),
    "device of a device": lambda x: x.to(tdev.device(tdev.device("cuda:0"))),
    "by its name": lambda x: x.to(device=tdev.device("mps")),
    "with a dtype": lambda x: x.to(tdev.device("cuda"), stock.float32),
    "cuda()": lambda x: x.cuda(tdev.device("cuda")),
    "default": by_default,
    "attribute": lambda x: x.to(Settings().device),
    "dictionary": lambda x: x.to({"where": tdev.device("cuda")}["where"]),
    "pickle": lambda x: x.to(pickle.loads(pickle.dumps(tdev.device("cuda")))),
    "pickle with an index": lambda x: x.to(pickle.loads(pickle.dumps(tdev.device("cuda:0")))),
    "copy": lambda x: x.to(copy.copy(tdev.device("cuda"))),
    "deepcopy": lambda x: x.to(copy.deepcopy(Settings()).device),
    "default device": of_the_default,
    "device of a moved tensor": lambda x: x.to(there().device),
    "device of a moved parameter": lambda x: x.to(
        next(tdev.nn.Linear(1, 1).to(tdev.device("cuda")).parameters()).device
    ),
    "device of a module's buffer": lambda x: x.to(
        tdev.nn.BatchNorm1d(1).cuda().running_mean.device
    ),
    "like": lambda x: x.to(there()),
    "like, by its name": lambda x: x.to(tensor=there()),
    "like, with copy in its place": lambda x: x.to(there(), False, False),
    "as_tensor": lambda x: tdev.as_tensor(x, device="cuda"),
    "as_tensor of a moved device": lambda x: tdev.as_tensor(x, device=there().device),
    "asarray": lambda x: tdev.asarray(x, device="cuda"),
    "asarray of a buffer": lambda x: tdev.asarray(x.numpy(), device="cuda"),
    "as_tensor of a buffer": lambda x: tdev.as_tensor(x.numpy(), device=tdev.device("cuda")),
    "sparse": lambda x: tdev.sparse_coo_tensor([[0, 1, 2]], x, (3,), device="cuda")._values(),
    "dlpack": lambda x: tdev.from_dlpack(x, device="cuda"),
    "dlpack of a buffer": lambda x: tdev.utils.dlpack.from_dlpack(x.numpy(), device="cuda"),
    "scattered": lambda x: tdev.nn.parallel.scatter(x, [0])[0],
    "packed": lambda x: pack_sequence([x]).to(tdev.device("cuda")).data,
    "packed, cuda()": lambda x: pack_sequence([x]).cuda().data,
    "storage": lambda x: tdev.empty(0).set_(x.untyped_storage().cuda(), 0, (3,)),
    "storage, to": lambda x: tdev.empty(0).set_(
        x.untyped_storage().to(device=tdev.device("cuda")), 0, (3,)
    ),
}


@pytest.mark.parametrize("way", MOVES)
def test_in_place_work_does_not_reach_the_source(way: str) -> None:
    x = stock.ones(3)
    if way.startswith("packed"):  # which packs a copy
        source = pack_sequence([x])
        result = (source.cuda() if "cuda" in way else source.to(tdev.device("cuda"))).data
        result.zero_()
        assert source.data.tolist() == [1, 1, 1]
        return
    for _ in range(2):  # what was not known at first is looked up the second time
        result = MOVES[way](x)
        result.zero_()
        assert x.tolist() == [1, 1, 1]
        assert result.device == stock.device("cpu")


def test_the_same_without_the_module_in_c() -> None:
    """Every way once more, through the wrappers alone."""
    code = """
from tests.shims.test_moves_by_device import MOVES, test_in_place_work_does_not_reach_the_source as try_it
import tests.shims.test_moves_by_device as tests
from tdev_core.shims import calls
assert not calls.kinds()
for way in MOVES:
    try_it(way)
tests.test_what_names_the_cpu_is_torchs()
tests.test_a_tensor_that_is_there_stays()
tests.test_the_getter_is_torchs_but_for_moved_tensors()
tests.TestSubclasses().test_it_may_answer_anything((1, 2))
tests.TestSubclasses().test_torch_function_is_told_the_method_that_was_called()
"""
    run(code, TDEV_C_CALLS="0")


def test_what_names_the_cpu_is_torchs() -> None:
    x = stock.ones(3)
    for device in ("cpu", tdev.device("cpu"), stock.device("cpu"), x.device):
        assert x.to(device) is x and x.to(device=device) is x
        assert tdev.as_tensor(x, device=device) is x
    assert x.to(stock.ones(1)) is x and x.cpu() is x


def test_a_tensor_that_is_there_stays() -> None:
    y = stock.ones(3).cuda()
    for again in (y.cuda(), y.to("cuda"), y.to(tdev.device("cuda")), y.to(y.device), y.to(there())):
        assert again is y


def test_equality_is_torchs() -> None:
    device, plain = tdev.device("cuda"), stock.device("cpu")
    y = stock.ones(1).to(device)
    assert device == plain == y.device == copy.deepcopy(device) and hash(device) == hash(plain)
    assert str(device) == "cpu" and device.index is None and type(y.device) is stock.device
    assert (
        pickle.loads(pickle.dumps(plain)) == plain
        and pickle.loads(pickle.dumps(device)).type == "cpu"
    )


def test_a_module_that_came_back_is_not_there() -> None:
    layer = tdev.nn.Linear(1, 1)
    for back in (
        lambda: layer.cpu(),
        lambda: layer.to("cpu"),
        lambda: layer.to(stock.device("cpu")),
    ):
        layer.cuda()
        assert moved.is_marked(layer.weight)
        back()
        assert not moved.is_marked(layer.weight) and not moved.is_marked(layer.bias)


def test_only_what_lies_on_the_cpu_is_marked() -> None:
    assert stock.ones(1).to("meta").device.type == "meta"
    assert stock.ones(1).cuda("meta").device.type == "meta"


def test_marks_go_with_their_tensors() -> None:
    kept = [stock.ones(1).cuda() for _ in range(3000)]
    assert all(map(moved.is_marked, kept)) and len(moved.marks) >= 3000
    del kept
    gc.collect()
    # Each is kept alive until the next is there, so that no address is soon used again.
    last = [stock.ones(1).to(tdev.device("cuda"), non_blocking=True) for _ in range(20_000)][-1]
    for _ in range(2):  # what lives when it is looked through decides when that is next
        gc.collect()
        last = [stock.ones(1).cuda() for _ in range(50_000)][-1]
    del last
    alive = sum(reference() is not None for reference in list(moved.marks.values()))
    assert alive < 1000 and len(moved.marks) <= 110_000


def test_a_mark_is_its_tensors_and_not_the_next_ones_at_that_address() -> None:
    y = stock.ones(1).cuda()
    reference = moved.marks[id(y)]
    assert reference() is y
    del y
    gc.collect()
    x = stock.ones(1)
    moved.marks[id(x)] = reference  # as if x lay where y did
    assert not moved.is_marked(x) and x.device is not THERE
    assert x.to("cuda") is not x


def test_pickles_and_copies_of_a_moved_tensor_are_torchs() -> None:
    y = stock.ones(2).cuda()
    assert not vars(y)
    assert not moved.is_marked(pickle.loads(pickle.dumps(y))) and not moved.is_marked(
        copy.deepcopy(y)
    )


def test_the_getter_is_torchs_but_for_moved_tensors() -> None:
    getter: Any = vars(stock.Tensor)["device"]
    assert getter.__name__ == "device" and getter.__doc__ == stock._C.TensorBase.device.__doc__
    assert stock.Tensor.device is getter and getter.__get__(stock.ones(1)) == stock.device("cpu")
    with pytest.raises(AttributeError, match="not writable"):
        stock.ones(1).device = "cuda"  # type: ignore[misc, assignment]


def test_overrides_are_asked_for_the_device() -> None:
    seen = []

    class Told(stock.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    assert stock.ones(1).as_subclass(Told).device == stock.device("cpu")
    assert stock.Tensor.device.__get__ in seen  # type: ignore[attr-defined]


def test_uninstalling_takes_it_all_back() -> None:
    tdev.shims.uninstall()
    try:
        assert "device" not in vars(stock.Tensor) and stock.device not in copyreg.dispatch_table
        assert stock.device not in copy._deepcopy_dispatch  # type: ignore[attr-defined]
    finally:
        tdev.shims.install()
    assert "device" in vars(stock.Tensor)


class TestSubclasses:
    """What a subclass is told and which of its methods run does not depend on how often it was moved."""

    def test_torch_function_is_told_the_method_that_was_called(self) -> None:
        told = []

        class Told(stock.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                told.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = stock.ones(2).as_subclass(Told)
        for _ in range(3):
            told.clear()
            y = x.cuda()
            assert told == [stock.Tensor.cuda] and type(y) is Told
            y.zero_()
            assert x.as_subclass(stock.Tensor).tolist() == [1, 1]

    def test_a_mode_is_told_too(self) -> None:
        told = []

        class Mode(stock.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                told.append(func)
                return func(*args, **(kwargs or {}))

        x = stock.ones(2)
        x.cuda()
        with Mode():
            x.cuda(non_blocking=True)
        assert told == [stock.Tensor.cuda]

    @pytest.mark.parametrize("answer", [None, (1, 2), "text"], ids=repr)
    def test_it_may_answer_anything(self, answer: object) -> None:
        class Odd(stock.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return answer

        x = stock.Tensor._make_subclass(Odd, stock.ones(2))
        for _ in range(2):
            assert x.to("cuda") is x.cuda() is stock.Tensor.to(x, tdev.device("cuda")) is answer

    def test_its_own_to_is_not_asked_by_cuda(self) -> None:
        class Mine(stock.Tensor):
            def to(self, *args: Any, **kwargs: Any) -> Any:
                raise AssertionError("torch's cuda() does not call it")

        x = stock.ones(2).as_subclass(Mine)
        for _ in range(3):
            assert type(x.cuda()) is Mine


class TestCompiled:
    @pytest.mark.parametrize("backend", ["eager", "aot_eager"])
    @pytest.mark.parametrize("way", ["device", "by its name", "as_tensor", "asarray", "attribute"])
    def test_compiled_code_copies(self, way: str, backend: str) -> None:
        move = MOVES[way]
        stock._dynamo.reset()
        x = stock.ones(3)
        settings = Settings()
        function = (lambda x: x.to(settings.device)) if way == "attribute" else move

        def cleared(x: stock.Tensor) -> stock.Tensor:
            return function(x).zero_() + x  # type: ignore[no-any-return]

        result = tdev.compile(cleared, fullgraph=True, backend=backend)(x)
        assert x.tolist() == [1, 1, 1] and result.tolist() == [1, 1, 1]

    def test_a_device_that_is_an_argument(self) -> None:
        x = stock.ones(3)
        move = tdev.compile(lambda x, device: x.to(device).zero_(), fullgraph=True, backend="eager")
        move(x, tdev.device("cuda"))
        assert x.tolist() == [1, 1, 1]

    def test_scripted_code_copies(self) -> None:
        @tdev.jit.script
        def argument(x: stock.Tensor, device: stock.device) -> stock.Tensor:
            return x.to(device).zero_()

        @tdev.jit.script
        def optional(x: stock.Tensor, device: stock.device | None = None) -> stock.Tensor:
            if device is not None:
                x = x.to(device).zero_()
            return x

        class Held(stock.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.device = tdev.device("cuda")

            def forward(self, x: stock.Tensor) -> stock.Tensor:
                return x.to(self.device).zero_()

        x = stock.ones(3)
        device = tdev.device("cuda")
        for result in (argument(x, device), optional(x, device), tdev.jit.script(Held())(x)):
            assert result.tolist() == [0, 0, 0] and x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("other", [None, 0])
def test_what_torch_refuses_is_refused_though_the_device_is_known(other: Any) -> None:
    stock.ones(1).cuda()  # from here on it is known what "cuda" means
    cuda = stock.Tensor.cuda
    with pytest.raises(TypeError):
        getattr(cuda, "__tdev_wrapper__", cuda)(stock.ones(1), non_blocking=other)
