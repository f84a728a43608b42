"""The module in C before tdev's wrappers: the same answers as without it, and nothing else of its own."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import tdev
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tdev_core import devices
from tdev_core.backend import Backend, current
from tdev_core.shims import calls
from tests.programs import run

pytestmark = [
    pytest.mark.skipif(current() is Backend.CUDA, reason="there torch's own functions are called"),
    pytest.mark.skipif(
        not calls.kinds(), reason="tdev was installed without a C compiler, or TDEV_C_CALLS=0"
    ),
]


def in_front() -> dict[str, Any]:
    """Everything of the mirror's top level and of Tensor that is one of these callables."""
    found = {name: value for name, value in vars(tdev).items() if isinstance(value, calls.kinds())}
    methods = {
        f"Tensor.{name}": value
        for name, value in vars(torch.Tensor).items()
        if isinstance(value, calls.kinds())
    }
    return found | methods


# What makes a small tensor by each of them, without a device.
BASE: dict[str, tuple[Any, ...]] = {
    "arange": (4,),
    "as_tensor": ([1.0, 2.0],),
    "asarray": ([1.0, 2.0],),
    "empty": (0,),
    "empty_like": (torch.ones(0),),
    "empty_permuted": ((0, 1), (0, 1)),
    "empty_strided": ((0,), (1,)),
    "from_file": (__file__,),
    "full": ((2,), 3.0),
    "full_like": (torch.ones(2), 3.0),
    "linspace": (0, 1, 3),
    "logspace": (0, 1, 3),
    "normal": (0.0, 1.0, (2,)),
    "ones_like": (torch.ones(2),),
    "rand_like": (torch.ones(2),),
    "randint": (3, (2,)),
    "randint_like": (torch.ones(2), 3),
    "randn_like": (torch.ones(2),),
    "range": (0, 3),
    "scalar_tensor": (3.0,),
    "sparse_bsc_tensor": ([0, 1], [0], [[[1.0]]], (1, 1)),
    "sparse_bsr_tensor": ([0, 1], [0], [[[1.0]]], (1, 1)),
    "sparse_compressed_tensor": ([0, 1], [0], [1.0], (1, 1)),
    "sparse_coo_tensor": ([[0]], [1.0]),
    "sparse_csc_tensor": ([0, 1], [0], [1.0], (1, 1)),
    "sparse_csr_tensor": ([0, 1], [0], [1.0], (1, 1)),
    "tensor": ([1.0, 2.0],),
    "tril_indices": (2, 2),
    "triu_indices": (2, 2),
    "zeros_like": (torch.ones(2),),
    "Tensor.cuda": (torch.ones(2),),
    "Tensor.is_pinned": (torch.ones(2),),
    "Tensor.mtia": (torch.ones(2),),
    "Tensor.new": (torch.ones(2), 0),
    "Tensor.new_empty": (torch.ones(2), 0),
    "Tensor.new_empty_strided": (torch.ones(2), (0,), (1,)),
    "Tensor.new_full": (torch.ones(2), (2,), 3.0),
    "Tensor.new_ones": (torch.ones(2), 2),
    "Tensor.new_tensor": (torch.ones(2), [1.0]),
    "Tensor.new_zeros": (torch.ones(2), 2),
    "Tensor.to": (torch.ones(2),),
    "Tensor.xpu": (torch.ones(2),),
}
# They take a quantized tensor, which torch warns of, objects of its compiler, and a layout by its name.
NO_BASE = {
    "empty_quantized",
    "import_ir_module",
    "import_ir_module_from_buffer",
    "sparse_compressed_tensor",
}


class Evil(str):
    """A string by its looks, whose hash and comparison must not be asked for."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")


DEVICES = [
    None,
    "cpu",
    "cuda",
    "cuda:0",
    "meta",
    "nonsense",
    "".join(("c", "pu")),
    torch.device("cpu"),
    torch.device("meta"),
    0,
    True,
    1.5,
    [],
    Evil("cpu"),
]
CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    *(((), {"device": device}) for device in DEVICES),
    *(((device,), {}) for device in DEVICES),
    ((), {"dtype": torch.float64}),
    ((), {"dtype": torch.float64, "device": "cuda"}),
    ((), {"device": "cuda", "pin_memory": True}),
    *(((), {"pin_memory": pin}) for pin in (True, False, None, 1, 0)),
    ((), {"requires_grad": True, "device": "cuda"}),
    ((torch.float64,), {}),
    ((torch.float64,), {"copy": True}),
    (("cuda", torch.float64), {}),
    (("cuda", torch.float64, True), {"memory_format": torch.preserve_format}),
    (("cuda", torch.float64, True, False), {}),
    (("cuda",), {"non_blocking": True}),
    (("cuda",), {"copy": False}),
    (("cuda",), {"device": "cuda"}),
    ((torch.float64,), {"device": "cuda"}),
    ((), {"device": "cuda", "dtype": torch.float64, "non_blocking": True, "copy": True}),
    ((torch.ones(1, dtype=torch.int64),), {}),
    ((), {"other": torch.ones(1, dtype=torch.int64)}),
    ((), {"nonsense": 1}),
    ((None,) * 20, {}),
    ((None,) * 20, {"device": "cuda"}),
]


def answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call gives, in a form that can be compared."""
    torch.manual_seed(0)
    try:
        made = function(*args, **kwargs)
    except Exception as error:
        # torch goes on with the arguments in the order in which it got them.
        return "raised", type(error), str(error).partition(" - got ")[0]
    if not isinstance(made, torch.Tensor):
        return "gave", made
    looks = (made.dtype, made.device, made.shape, made.layout, made.requires_grad, made.is_leaf)
    same = {number: made is arg for number, arg in enumerate(args)}
    plain = made.device.type != "meta" and made.layout is torch.strided
    return "made", looks, same, made.tolist() if plain else None


def test_it_is_in_front_of_what_translates() -> None:
    names = in_front()
    assert {"zeros", "tensor", "Tensor.to", "Tensor.cuda", "Tensor.new_zeros"} <= names.keys()
    assert BASE.keys() <= names.keys()
    assert "Tensor.type" not in names  # every call of it is the wrapper's
    if devices.moves_copy():
        assert isinstance(vars(torch.Tensor)["device"], calls.device_getter())


@pytest.mark.parametrize("name", sorted(in_front()))
def test_with_and_without_it_the_same_comes_about(name: str) -> None:
    front = in_front()[name]
    base = BASE.get(name, (2,))
    assert name in NO_BASE or answer(front, base, {})[0] != "raised"
    for more, kwargs in CASES:
        args = (*base, *more)
        expected = answer(front.__tdev_wrapper__, args, dict(kwargs))
        # Twice: what was not known at first is looked up the second time.
        assert answer(front, args, kwargs) == expected, (name, args, kwargs)
        assert answer(front, args, kwargs) == expected, (name, args, kwargs)


@pytest.mark.parametrize("name", ["to", "cuda"])
def test_moves_of_every_kind_of_tensor(name: str) -> None:
    """What a move copies, and what it hands back as it is, depends on the tensor."""
    method = getattr(torch.Tensor, name)
    leaf = torch.nn.Parameter(torch.ones(2))
    kinds = {
        "plain": torch.ones(2),
        "parameter": leaf,
        "result": leaf * 2,
        "detached": leaf.detach(),
        "integers": torch.ones(2, dtype=torch.int64),
        "sparse": torch.ones(2).to_sparse(),
        "subclass": torch.ones(2).as_subclass(type("Sub", (torch.Tensor,), {})),
    }
    for kind, tensor in kinds.items():
        for args, kwargs in CASES:
            arguments = (tensor, *args)
            expected = answer(method.__tdev_wrapper__, arguments, dict(kwargs))
            assert answer(method, arguments, kwargs) == expected, (kind, args, kwargs)


MOVES: list[Callable[[Any], Any]] = [
    lambda x: x.to("cuda"),
    lambda x: x.cuda(),
    lambda x: x.to(device="cuda"),
    lambda x: x.to("cuda:0", non_blocking=True),
    lambda x: x.cuda(non_blocking=True),
]


@pytest.mark.skipif(current() is not Backend.CPU, reason="elsewhere a move is to another memory")
def test_the_gradient_is_found_on_the_leaf_that_was_moved() -> None:
    leaf = torch.ones(2, requires_grad=True)
    for move in MOVES:
        assert move(leaf) is leaf


def test_a_move_gives_a_second_tensor() -> None:
    x = torch.zeros(2)
    for move in MOVES:
        y = move(x)
        y += 1
        assert x.tolist() == [0, 0]


# But for the last one, of which hypothesis asks its hash.
VALUES = st.sampled_from([*DEVICES[:-1], torch.float64, torch.ones(1), "", "cuda:999"])
NAMES = st.sampled_from(
    ["device", "dtype", "pin_memory", "copy", "non_blocking", "other", "layout"]
)


@given(
    name=st.sampled_from(sorted(in_front())),
    more=st.lists(VALUES, max_size=3),
    kwargs=st.dictionaries(NAMES, VALUES, max_size=4),
)
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning")
def test_whatever_it_is_called_with(name: str, more: list[Any], kwargs: dict[str, Any]) -> None:
    front = in_front()[name]
    args = (*BASE.get(name, (2,)), *more)
    assert answer(front, args, kwargs) == answer(front.__tdev_wrapper__, args, dict(kwargs))


@pytest.mark.skipif(
    current() is Backend.SIM, reason="there 'cuda' is the current device, asked for at each call"
)
def test_most_calls_never_reach_the_wrapper() -> None:
    x = torch.ones(2)
    wrappers = {front.__tdev_wrapper__.__code__ for front in in_front().values()}
    reached: list[str] = []

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code in wrappers:
            reached.append(frame.f_code.co_name)

    tdev.zeros(1, device="cuda")  # from now on it is known what that is
    x.to("cuda:0")
    x.cuda()
    sys.setprofile(profile)
    try:
        tdev.zeros(3)
        tdev.zeros(3, dtype=torch.float64, device="cuda", pin_memory=True)
        tdev.as_tensor([1.0], dtype=torch.float64)
        x.to("cpu")
        x.to(torch.float64)
        for move in MOVES:
            move(x)
        x.to(dtype=torch.float64)
        x.new_zeros(2, device="cuda")
    finally:
        sys.setprofile(None)
    assert reached == []


def test_a_function_that_a_program_replaces_for_a_while_is_called() -> None:
    with mock.patch("torch.zeros", return_value="replaced"):
        assert tdev.zeros(3) == "replaced"
        assert tdev.zeros(3, device="cuda") == "replaced"
    assert tdev.zeros(3).tolist() == [0, 0, 0]


def test_a_function_that_is_gone_raises_as_the_wrapper_does() -> None:
    function = torch.zeros
    del torch.zeros
    try:
        with pytest.raises(AttributeError, match="'torch' has no attribute 'zeros'"):
            tdev.zeros(3)
    finally:
        torch.zeros = function


def test_a_function_may_take_itself_away() -> None:
    """It lives as long as its call, though nothing else holds it."""
    module = sys.modules[calls.kinds()[0].__module__]
    namespace: dict[str, Any] = {}

    class Original:
        def __call__(self, *args: Any) -> int:
            namespace.clear()
            gc.collect()
            return self.answer

        answer = 7

    namespace["f"] = Original()
    front = module.Function(len, (namespace, "f"), {}, ())
    assert front(1) == 7
    with pytest.raises(TypeError):  # now it is len's
        front(1)


def test_what_is_asked_of_it_is_the_wrappers() -> None:
    zeros = tdev.zeros
    assert zeros.__name__ == "zeros"
    assert zeros.__doc__ == zeros.__tdev_wrapper__.__doc__
    assert zeros.__module__ == "tdev"
    assert zeros.__wrapped__ is torch.zeros
    assert "function zeros" in repr(zeros)
    assert callable(zeros) and inspect.isroutine(zeros)
    assert copy.deepcopy(zeros) is zeros and copy.copy(zeros) is zeros
    assert pickle.loads(pickle.dumps(zeros)) is zeros
    assert weakref.ref(zeros)() is zeros
    assert len({zeros, tdev.zeros, tdev.ones}) == 2
    zeros.remark = 1
    assert zeros.__tdev_wrapper__.remark == 1
    del zeros.remark
    with pytest.raises(AttributeError, match="remark"):
        zeros.remark  # noqa: B018
    wrapped = functools.wraps(zeros)(lambda: None)
    assert wrapped.__name__ == "zeros" and wrapped.__wrapped__ is zeros
    assert functools.partial(zeros, 2)(device="cuda").tolist() == [0, 0]
    assert list(map(zeros, (1,)))[0].tolist() == [0]


def test_signatures_are_those_of_the_wrappers() -> None:
    for name, front in in_front().items():
        try:
            expected = inspect.signature(front.__tdev_wrapper__)
        except ValueError:
            with pytest.raises(ValueError):
                inspect.signature(front)
        else:
            assert inspect.signature(front) == expected, name


def test_a_function_does_not_become_a_method() -> None:
    class Model:
        make = tdev.zeros

    assert Model().make(2).tolist() == [0, 0]
    assert Model.make is tdev.zeros


def test_a_method_does() -> None:
    x = torch.ones(2)
    assert x.to.__self__ is x
    assert x.to.__func__ is torch.Tensor.to
    assert torch.Tensor.to(x, torch.int64).tolist() == [1, 1]
    to = x.to
    assert to("cuda").tolist() == [1, 1]
    with pytest.raises(TypeError):
        torch.Tensor.to()
    for wrong in (lambda: torch.Tensor.to(3, "cpu"), lambda: torch.Tensor.cuda(3)):
        with pytest.raises((TypeError, AttributeError)):
            wrong()


def test_subclasses_that_override_torch_functions_see_the_method() -> None:
    seen = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Sub)
    x.to(torch.float64)
    x.to("cuda")
    x.new_zeros(2)
    names = [function.__name__ for function in seen]
    assert [name for name in names if name != "__get__"] == ["to", "to", "new_zeros"]
    assert seen.count(torch.Tensor.to) == 2
    del seen[:]
    assert type(x.cuda()) is Sub and x.cuda(non_blocking=True).tolist() == [1, 1]
    assert seen.count(torch.Tensor.cuda) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tdev.zeros(2, device="cuda", dtype=torch.float64),
        lambda x: tdev.zeros(2, device=1.5),
        lambda x: tdev.zeros("two", device="cuda"),
        lambda x: x.to("cpu"),
        lambda x: x.to("cuda"),
        lambda x: x.to([]),
        lambda x: x.new_zeros(2, device="cuda"),
    ],
)
def test_nothing_is_kept_and_nothing_given_away(call: Callable[[Any], Any]) -> None:
    x = torch.ones(2)
    held = [
        x,
        "cuda",
        devices.translate("cuda"),
        torch.float64,
        torch.zeros,
        tdev.zeros,
        torch.Tensor.to,
    ]

    def many() -> None:
        for _ in range(500):
            try:
                call(x)
            except (TypeError, RuntimeError):
                pass

    many()
    gc.collect()
    before = [sys.getrefcount(value) for value in held]
    many()
    gc.collect()
    after = [sys.getrefcount(value) for value in held]
    assert all(abs(b - a) < 20 for a, b in zip(before, after, strict=True)), (before, after)


def test_it_is_freed_with_what_it_holds() -> None:
    module = sys.modules[calls.kinds()[0].__module__]

    def wrapper() -> None: ...

    front = module.Method(wrapper, print, {"a": {}}, (int,), 3, {1: 2}, {1}, 1)
    wrapper.me = front  # type: ignore[attr-defined]  # a cycle
    gone = weakref.ref(front), weakref.ref(wrapper)
    del front, wrapper
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, print, {}, ()),
        (print, 1, {}, ()),
        (print, (1, 2), {}, ()),
        (print, ({}, 2), {}, ()),
        (print, print, [], ()),
        (print, print, {"a": 3}, ()),
        (print, print, {}, []),
        (print, print, {}, (), None),
        (print, print, {}, (), -1, frozenset(), set()),
        (print, print, {}, (), -1, {}),
        (print, print, {}, (), -1, {}, frozenset()),
    ],
)
def test_it_refuses_what_it_could_not_use(arguments: tuple[Any, ...]) -> None:
    for kind in calls.kinds():
        with pytest.raises(TypeError):
            kind(*arguments)


def test_threads_may_replace_what_others_call() -> None:
    stop = threading.Event()
    function = torch.ones

    def replace() -> None:
        while not stop.is_set():
            torch.ones = lambda *args, **kwargs: function(*args, **kwargs)
            torch.ones = function

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(3000):
            assert tdev.ones(1, device="cuda").item() == 1
    finally:
        stop.set()
        thread.join()
        torch.ones = function


def test_functions_of_other_code_are_not_passed_by() -> None:
    """functools.wraps hands on what a wrapper says of itself, to a function that does something else."""
    wrapper = tdev.zeros.__tdev_wrapper__

    @functools.wraps(wrapper)
    def other(*args: Any, **kwargs: Any) -> Any:
        return wrapper(*args, **kwargs)

    assert calls.function(wrapper, torch.zeros, torch, "zeros") is not wrapper
    assert calls.function(other, torch.zeros, torch, "zeros") is other


def test_a_module_from_another_source_is_left_alone(tmp_path: Path, monkeypatch: Any) -> None:
    changed = tmp_path / "_calls.c"
    changed.write_bytes(calls.SOURCE.read_bytes() + b"\n")
    monkeypatch.setattr(calls, "SOURCE", changed)
    with pytest.warns(RuntimeWarning, match="Install tdev again"):
        assert calls._module.__wrapped__() is None


def test_the_current_device_is_asked_for_at_each_call() -> None:
    code = """
        import tdev as torch

        x = torch.ones(1)
        for _ in range(2):
            for index in (1, 0, 2):
                torch.cuda.set_device(index)
                made = [x.to("cuda"), x.cuda(), x.to(device="cuda"), x.to(torch.device("cuda"))]
                made += [torch.zeros(1, device="cuda"), x.new_zeros(1, device="cuda")]
                assert [y.get_device() for y in made] == [index] * 6, made
                assert [x.to("cuda:1").get_device(), x.cuda(2).get_device()] == [1, 2]
    """
    run(code, TDEV_BACKEND="sim", TDEV_SIM_DEVICES="3")


def test_a_bundle_without_sources_uses_it(tmp_path: Path, monkeypatch: Any) -> None:
    """Tools that freeze programs take what is imported, and no text beside it."""
    monkeypatch.setattr(calls, "SOURCE", tmp_path / "_calls.c")
    assert calls._module.__wrapped__() is calls._module()


PROGRAM = """
    import types
    import tdev as torch
    import torch as stock
    from tdev_core.shims import calls

    x = torch.ones(2, device="cuda").to("cpu").to(torch.float64)
    functions = [torch.zeros, torch.Tensor.to, torch.Tensor.new_zeros]
    print(calls.state(), [isinstance(f, types.FunctionType) for f in functions], x.tolist())
"""


def test_it_can_be_left_out() -> None:
    said = run(PROGRAM, TDEV_BACKEND="cpu", TDEV_C_CALLS="0")
    assert said == "Python (TDEV_C_CALLS=0) [True, True, True] [1.0, 1.0]"


def test_what_is_counted_is_seen() -> None:
    said = run(PROGRAM, TDEV_BACKEND="cpu", TDEV_REPORT="1")
    assert said.startswith("Python (TDEV_REPORT=1 counts them) [True, True, True] [1.0, 1.0]")


@pytest.fixture(autouse=True)
def _torchs_functions_stay() -> Iterator[None]:
    before = torch.zeros, torch.ones
    yield
    assert (torch.zeros, torch.ones) == before
