"""torch.compile, export, fx, func, custom operators and the modes, through the mirror."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tdev as torch
import torch as stock

from tdev_core.backend import Backend, current
from tests.programs import COMPILER, run

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="expects the CPU as the target"
)
Function = Callable[[stock.Tensor], Any]
X = stock.ones(2)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    stock._dynamo.reset()
    yield
    stock._dynamo.reset()


def factories(x: stock.Tensor) -> stock.Tensor:
    made = torch.zeros(2, device="cuda") + torch.ones_like(x, device="cuda:0")
    return (
        made + torch.arange(2, device=torch.device("cuda")) + torch.tensor([1.0, 2.0], device=0) + x
    )


def moves(x: stock.Tensor) -> stock.Tensor:
    y = x.to("cuda") + x.to(torch.device("cuda", 0)) + x.to(device="cuda", dtype=torch.float64)
    return y + x.to(0) + x.cuda() + x.cuda(0, non_blocking=True) + x.type("torch.cuda.FloatTensor")


def new_tensors(x: stock.Tensor) -> stock.Tensor:
    return x.new_zeros(2, device="cuda") + x.new_ones((2,), device="cuda:0") + x.pin_memory()


def asks_for_cuda(x: stock.Tensor) -> stock.Tensor:
    if torch.cuda.is_available() or x.device.type == "cuda":
        return x - 1
    return x + torch.cuda.device_count() + torch.cuda.current_device()


def mixed_precision(x: stock.Tensor) -> stock.Tensor:
    square = x.repeat(2, 1)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        a = square @ square
    with torch.autocast(device_type="cuda", enabled=False):
        b = square @ square
    return a + b


def synchronizes(x: stock.Tensor) -> stock.Tensor:
    torch.cuda.synchronize()
    with torch.cuda.device(0):
        return x + 1


def attention(x: stock.Tensor) -> stock.Tensor:
    q = x[None, None, None]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q)


def checkpointed(x: stock.Tensor) -> stock.Tensor:
    result: stock.Tensor = torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    return result


def device_in_isinstance(x: stock.Tensor) -> stock.Tensor:
    return x + 1 if isinstance(x.device, torch.device) else x


FUNCTIONS = [
    factories,
    moves,
    new_tensors,
    asks_for_cuda,
    mixed_precision,
    synchronizes,
    attention,
    checkpointed,
    device_in_isinstance,
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_one_graph_holds_the_whole_function(function: Function, backend: str) -> None:
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    stock.testing.assert_close(compiled(X), function(X))


@pytest.mark.inductor
@pytest.mark.deep  # half a minute; the modes for CUDA below are Inductor's too
def test_inductor_compiles_all_of_them_into_one_kernel() -> None:
    """One compilation for all: starting the C++ compiler is what takes the time."""

    def everything(x: stock.Tensor) -> stock.Tensor:
        y = factories(x) + moves(x) + new_tensors(x) + asks_for_cuda(x) + synchronizes(x)
        return y + mixed_precision(x).sum(0) + attention(x).flatten() + checkpointed(x)

    compiled = torch.compile(everything, fullgraph=True)
    stock.testing.assert_close(compiled(X), everything(X))


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
@pytest.mark.inductor
@pytest.mark.deep  # test_compile.py has the modes in the quick run, on a function of two operators
def test_modes_for_cuda_run(mode: str) -> None:
    code = """
        import sys, warnings
        import tdev as torch
        model = torch.nn.Linear(2, 2, device="cuda")
        compiled = torch.compile(model, mode=sys.argv[1])
        x = torch.ones(1, 2, device="cuda")
        torch.testing.assert_close(compiled(x), model(x))
    """
    run(code, mode, preload=COMPILER)


def test_the_cudagraphs_backend_runs() -> None:
    code = """
        import tdev as torch
        compiled = torch.compile(lambda x: x.cuda() * 2, backend="cudagraphs")
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    """
    run(code, preload=COMPILER)


def test_a_training_step_compiles() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
    ).cuda()
    expected = [p.clone() for p in model.parameters()]

    @torch.compile(backend="aot_eager", fullgraph=True)
    def loss(x: stock.Tensor) -> stock.Tensor:
        result: stock.Tensor = model(x.cuda()).pow(2).mean() + torch.zeros((), device="cuda")
        return result

    loss(torch.ones(3, 4)).backward()
    assert all(p.grad is not None for p in model.parameters())
    assert [p.shape for p in model.parameters()] == [p.shape for p in expected]


def test_devices_do_not_recompile() -> None:
    counter = stock._dynamo.testing.CompileCounter()

    @torch.compile(backend=counter)
    def f(x: stock.Tensor) -> stock.Tensor:
        return x.to("cuda") + torch.zeros(2, device="cuda")

    f(X)
    torch.zeros(1, device="cuda:0"), torch.device("mps"), torch.zeros(1, device="xpu")
    f(X)
    assert counter.frame_count == 1


def test_what_breaks_the_graph_still_runs() -> None:
    def f(x: stock.Tensor) -> stock.Tensor:
        y = x + 1
        torch.cuda.empty_cache()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            y = y * 2
        event = torch.cuda.Event()
        event.record()
        event.synchronize()
        return y + (torch.cuda.memory_allocated() >= 0)

    assert torch.compile(f, backend="eager")(X).tolist() == [5, 5]


class TestExportAndFx:
    def test_export(self) -> None:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = torch.nn.Linear(2, 2, device="cuda")

            def forward(self, x: stock.Tensor) -> stock.Tensor:
                y: stock.Tensor = self.layer(x.to("cuda")) + torch.zeros(2, device="cuda")
                return y + x.cuda()

        model = Model()
        program = torch.export.export(model, (X,))
        stock.testing.assert_close(program.module()(X), model(X))

    def test_symbolic_tracing_sees_torchs_functions(self) -> None:
        def f(x: stock.Tensor) -> stock.Tensor:
            return torch.zeros_like(x, device=torch.device("cuda")) + torch.relu(x)

        graph = torch.fx.symbolic_trace(f)
        targets = {node.target for node in graph.graph.nodes}
        assert {stock.zeros_like, stock.relu} <= targets
        assert "device(type='cpu')" in graph.code
        assert graph(X).tolist() == [1, 1]

    def test_make_fx(self) -> None:
        from torch.fx.experimental.proxy_tensor import make_fx

        graph = make_fx(factories)(X)
        assert torch.equal(graph(X), factories(X))

    def test_func(self) -> None:
        def f(x: stock.Tensor) -> stock.Tensor:
            return (x.to("cuda") * torch.ones(2, device="cuda")).pow(2).sum()

        assert torch.func.grad(f)(X).tolist() == [2, 2]
        assert torch.func.vmap(f)(stock.ones(3, 2)).tolist() == [2, 2, 2]
        assert torch.func.jacrev(f)(X).tolist() == [2, 2]


class TestOperators:
    def test_custom_op_and_infer_schema_with_device_annotations(self) -> None:
        code = """
            import tdev as torch
            from typing import Optional

            @torch.library.custom_op("tdevtests::filled", mutates_args=(), device_types="cuda")
            def filled(x: torch.Tensor, device: Optional[torch.device] = None) -> torch.Tensor:
                return x.clone() + 1

            @filled.register_fake
            def _(x, device=None):
                return torch.empty_like(x)

            x = torch.ones(2, device="cuda")
            assert filled(x, torch.device("cuda")).tolist() == [2, 2]
            compiled = torch.compile(lambda x: filled(x) + 1, backend="aot_eager", fullgraph=True)
            assert compiled(x).tolist() == [3, 3]
            schema = torch.library.infer_schema(filled._init_fn, mutates_args=())
            assert schema == "(Tensor x, Device? device=None) -> Tensor", schema
        """
        run(code)


class TestModes:
    def test_a_function_mode_sees_torchs_own_functions(self) -> None:
        seen = []

        class Mode(torch.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(func)
                return func(*args, **(kwargs or {}))

        x = stock.ones(2)
        with Mode():
            torch.zeros(2, device="cuda")
            torch.ones_like(x, device="cuda")
            torch.relu(x)
            x.to("cuda")
        assert seen[:3] == [stock.zeros, stock.ones_like, stock.relu]
        assert stock.Tensor.to in seen[3:]

    def test_a_subclass_sees_torchs_own_functions(self) -> None:
        seen = []

        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = stock.ones(2).as_subclass(Mine)
        torch.zeros_like(x, device="cuda")
        assert type(x.to("cuda")) is Mine and type(x.cuda()) is Mine
        assert stock.zeros_like in seen and stock.Tensor.to in seen

    def test_a_dispatch_mode_sees_the_operators(self) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        seen = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        with Mode():
            torch.zeros(2, device="cuda").to("cuda")
        assert seen == ["aten.zeros.default", "aten._to_copy.default"]

    def test_the_default_device_mode(self) -> None:
        with torch.device("cuda"):
            assert torch.zeros(2).device == stock.zeros(2).device == torch.device("cuda")
        with stock.device("meta"):
            assert torch.zeros(2).device.type == "meta"
            assert torch.zeros(2, device="cuda").device == torch.device("cuda")

    def test_overrides_lists_torchs_functions(self) -> None:
        functions = torch.overrides.get_overridable_functions()
        assert stock.zeros_like in functions[stock]
        assert torch.overrides.resolve_name(stock.relu) == "torch.relu"


@pytest.mark.parametrize("backend", ["cpu", pytest.param("sim", marks=pytest.mark.deep)])
def test_compiled_autograd(backend: str) -> None:
    """The backward pass is traced too, with a hook that names the accelerator."""
    run(
        """
        import tdev as torch
        torch._dynamo.config.compiled_autograd = True
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1, device="cuda")
        x = torch.randn(3, 4, device="cuda")
        (wanted,) = torch.autograd.grad(layer(x).sum(), [layer.weight])
        def double(grad):
            return grad.cuda() * torch.full((1,), 2.0, device="cuda")
        layer.weight.register_hook(double)
        def step(x):
            layer(x).sum().backward()
        torch.compile(step, backend="aot_eager")(x)
        assert layer.weight.grad.device == x.device
        assert torch.allclose(layer.weight.grad.cpu(), 2 * wanted.cpu())
        """,
        preload=COMPILER,
        TDEV_BACKEND=backend,
    )


CACHED = """
    import os, sys
    import {api} as torch
    from torch._dynamo.utils import counters
    @torch.compile(fullgraph=True)
    def f(x):
        made = torch.full((4,), float(sys.argv[1]), device="{device}")
        return (x.to("{device}") * (torch.arange(4, device="{device}") + made)).sum()
    x = torch.arange(4.0, requires_grad=True)
    loss = f(x)
    loss.backward()
    print(loss.item(), x.grad.tolist(), counters["inductor"]["fxgraph_cache_hit"] > 0)
"""


@pytest.mark.inductor
@pytest.mark.deep
def test_a_second_process_takes_what_the_first_compiled() -> None:
    """From the cache on disk, whether it was written through tdev or torch; and nothing wrong."""
    ours = CACHED.format(api="tdev", device="cuda")
    theirs = CACHED.format(api="torch", device="cpu")
    first = random.randrange(
        1 << 20
    )  # nobody has compiled it, in a cache that the processor is known to

    def told(code: str, number: int) -> str:
        return run(code, str(number), preload=COMPILER, TDEV_BACKEND="cpu")

    def expected(number: int, hit: bool) -> str:
        made = [float(number + i) for i in range(4)]
        return f"{sum(i * made[i] for i in range(4))} {made} {hit}"

    assert told(ours, first) == expected(first, False)
    assert told(ours, first) == expected(first, True)
    assert told(theirs, first) == expected(first, True)
    assert told(ours, first + 1) == expected(first + 1, False)
