"""Graphs that torch.compile makes: which operator inside gives something else compiled, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from tdev_core.measure import compiled_graphs as graphs
from tests.forkserver import COMPILER, environment, python

PROGRAMS = Path(__file__).parent / "programs"


def traced(x: torch.Tensor) -> fx.GraphModule:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = (x * 2).tanh().exp()
        return (y + x).sum(1), y

    found: fx.GraphModule = make_fx(program)(x)
    for node in found.graph.nodes:
        if "tensor_meta" in node.meta:
            node.meta.setdefault("val", torch.empty(node.meta["tensor_meta"].shape))
    return found


class Compiler:
    """Runs a graph, with one per cent too much in an operator, as a kernel that is wrong does."""

    def __init__(self, wrong: str) -> None:
        self.wrong, self.compiled = wrong, 0

    def __call__(self, gm: fx.GraphModule, args: list[Any]) -> Any:
        self.compiled += 1
        compiler = self

        class Runs(fx.Interpreter):
            def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
                found = super().call_function(target, args, kwargs)
                return found * 1.01 if str(target).startswith(f"aten.{compiler.wrong}.") else found

        return Runs(gm).run(*args)


@pytest.mark.parametrize("wrong", ["mul", "tanh", "exp", "add", "sum"])
def test_the_operator_that_is_wrong_is_found_by_halves(wrong: str) -> None:
    x = torch.randn(4, 8)
    gm, compiler = traced(x), Compiler(wrong)

    def ends_at(node: fx.Node, args: list[Any]) -> torch.Tensor:
        (found,) = compiler(graphs._until(gm, node), args)
        assert isinstance(found, torch.Tensor)
        return found

    last = next(iter(gm.graph.output_node().all_input_nodes))
    found = graphs._inside(gm, last, [x], ends_at)
    assert found is not None and str(found[0].target).startswith(f"aten.{wrong}.")
    assert compiler.compiled <= 4, "five operators, by halves"
    compiler.wrong = "none"
    assert graphs._inside(gm, last, [x], ends_at) is None


def test_a_view_is_told_as_what_it_is_a_view_of() -> None:
    gm: fx.GraphModule = make_fx(lambda x: ((x * 2).t(), x.t()))(torch.randn(2, 3))
    for node in gm.graph.nodes:
        if "tensor_meta" in node.meta:
            node.meta.setdefault("val", torch.empty(node.meta["tensor_meta"].shape))
    outputs: Any = gm.graph.output_node().args[0]
    view, of_input = outputs
    source = graphs._source(view)
    assert source is not None and str(source.target) == "aten.mul.Tensor"
    assert graphs._source(of_input) is None


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("L['self']", "Net"),
        ("L['self'].blocks[0].norm", "Net.blocks.0.norm"),
        ("L['self']._modules['3']._modules['norm']", "Net.3.norm"),
        ("L['fn'].__self__.head", "Net.head"),
    ],
)
def test_modules_have_the_paths_that_torch_gives_them(path: str, below: str) -> None:
    assert graphs._below(path, "Net") == below


def test_functions_have_torchs_names() -> None:
    assert graphs._called("rsqrt") == "torch.Tensor.rsqrt"
    assert graphs._called(torch.nn.functional.gelu) == "torch.nn.functional.gelu"
    assert graphs._called(torch.nn.Linear) == "torch.nn.modules.linear.Linear"


RECORDS = """
import runpy, sys, tempfile
from pathlib import Path
import tdev, torch
from tdev_core.measure.comparing import compare, read
from tdev_core.measure.recording import Recording
from tdev_core.measure.values import judged
from tdev_core.measure.wish import Wish, mark
folder = Path(tempfile.mkdtemp())
def both(whole=()):
    sides = []
    for graphs in ("eager", "compiled"):
        torch._dynamo.reset()
        (folder / graphs).mkdir(exist_ok=True)
        with Recording(Wish(str(folder / graphs), steps=1, whole=whole, graphs=graphs)):
            try: train()
            except SystemExit: pass
        sides.append(read(folder / graphs))
    return compare(*sides)
"""
RMS = (
    RECORDS
    + f"""
code = compile(open({str(PROGRAMS / "rms.py")!r}).read().replace("import torch", "import tdev as torch", 1).replace("from torch", "from tdev"), "rms.py", "exec")
def train(): exec(code, {{"__name__": "rms"}})
found = both()
assert found.first.key[0].site == "rms.py:14", found.first
one = mark(found.first.process, found.first.key)
both((one,))
print(judged(folder / "eager", folder / "compiled", one).inside)
"""
)


@pytest.mark.deep
@pytest.mark.inductor
def test_what_float16_holds_only_inside_of_a_fused_kernel_is_found() -> None:
    """Eager squares 400 in float16, which is infinite; compiled, the square is never rounded to float16."""
    done = python("-c", RMS, env=environment(TDEV_BACKEND="cpu"), preload=COMPILER, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rsqrt of torch.Tensor.rsqrt in rms.py:14"), done.stdout


NET = (
    RECORDS
    + """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
        self.drop = torch.nn.Dropout(0.1)
    def forward(self, x):
        return self.last(self.drop(torch.nn.functional.gelu(self.norm(self.first(x)))))
def train():
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.randn(5, 8).cuda()).square().sum().backward()
    optimizer.step()
plain = torch.compile
found = both()
assert torch.compile is plain
assert found.first is None and found.alone == (0, 0), found.first
assert {one.key[0].phase for one in found.differences} == {"forward", "backward", "optimizer"}
assert any(one.key[0].module == "Net.first" for one in found.differences)
"""
)


@pytest.mark.slow
def test_a_compiled_model_agrees_with_itself_on_mlx() -> None:
    pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    done = python("-c", NET, env=environment(TDEV_BACKEND="mlx"), preload=COMPILER, timeout=300)
    assert done.returncode == 0, done.stderr
