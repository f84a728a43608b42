"""What torch's own Python names CUDA for: every place has been looked at, and what programs reach is answered.

"Torch not compiled with CUDA enabled" comes out of torch's code where a default or a literal says CUDA.
The places are found in the source of the torch that is installed, and ``cuda_in_torch.toml`` has one line for
each, under what was decided.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.catalog import catalog
from tests.forkserver import COMPILER, environment, python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(torch.__file__).parent
DECISIONS = tomllib.loads(
    Path(__file__).with_name("cuda_in_torch.toml").read_text(encoding="utf-8")
)

# torch.cuda is mirrored name by name; tests, compilers' back ends and vendored packages are no API.
_NOT_READ = (
    "_dynamo/",
    "_inductor/",
    "_native/",
    "_vendor/",
    "cuda/",
    "testing/",
    "utils/benchmark/examples/",
    "utils/hipify/",
)
_MAY_NAME = re.compile(r"[\"']cuda[:\"']|\.cuda\(")


def _says_cuda(node: ast.AST | None) -> bool:
    """Tell whether an expression is CUDA's name, with an index or without."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return node.value == "cuda" or node.value.startswith("cuda:")


def _names(node: ast.AST) -> bool:
    """Tell whether a node gives CUDA as a device: comparisons, which ask for one, do not."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *node.args.kw_defaults]
            return any(_says_cuda(n) for d in defaults if d is not None for n in ast.walk(d))
        case ast.Call(func=func):
            given = (*node.args, *(k.value for k in node.keywords))
            moves = isinstance(func, ast.Attribute) and func.attr == "cuda"
            return moves or any(map(_says_cuda, given))
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value=value):
            return any(map(_says_cuda, [value, *getattr(value, "values", ())]))
        case _:
            return False


def _found(node: ast.AST, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the qualified name of what encloses each such node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "__main__" in ast.unparse(child.test):
            continue
        named = isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        inner = (*path, child.name) if named else path  # type: ignore[attr-defined]  # see `named`
        if _names(child):
            yield ".".join(inner)
        yield from _found(child, inner)


def _places() -> set[str]:
    found = set()
    for file in ROOT.rglob("*.py"):
        relative = file.relative_to(ROOT).as_posix()
        if relative.startswith(_NOT_READ):
            continue
        source = file.read_text(encoding="utf-8")
        if _MAY_NAME.search(source):
            module = relative.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found |= {f"{module}:{name}" for name in _found(ast.parse(source))}
    return found


@pytest.mark.deep  # reads all of torch's files, and is about the release of torch alone
@pytest.mark.skipif(
    torch.__version__.partition("+")[0] != catalog()["torch"], reason="the list is of another torch"
)
def test_every_place_has_been_decided() -> None:
    decided = [place for places in DECISIONS.values() for place in places]
    assert len(decided) == len(set(decided)) > 60
    assert _places() == set(decided)


# What each kind of answer is, as a program asks for it; `here` is the device that stands for CUDA.
CALLS = {
    "checkpointing": """
from torch.utils.checkpoint import DefaultDeviceType, checkpoint
DefaultDeviceType.set_device_type()
x = torch.ones(3, device="cuda", requires_grad=True)
with torch.autocast("cuda", dtype=torch.bfloat16):
    checkpoint(lambda t: (t * t).sum(), x, use_reentrant=False).backward()
assert x.grad.device == here
""",
    "folded constants": """
from torch.fx.experimental.const_fold import FoldedGraphModule
class Constant(torch.nn.Module):
    def forward(self):
        return 2
constant = torch.fx.symbolic_trace(Constant())
graph = torch.fx.Graph()
graph.output(graph.get_attr("folded"))
class Root(torch.nn.Module):
    folded = None
folded = FoldedGraphModule(Root(), graph, constant.graph, "folded")
folded.const_subgraph_module.forward = lambda: 2
folded.run_folding()
assert folded.folded.device == here, folded.folded.device
""",
    "fuzzed tensors": """
import numpy
from torch.utils.benchmark import FuzzedTensor
fuzzed = FuzzedTensor("x", size=(4,), cuda=True)
assert fuzzed._make_tensor({}, numpy.random.RandomState(0))[0].device == here
""",
    "fuzzed sparse tensors": """
import numpy
from torch.utils.benchmark.utils.sparse_fuzzer import FuzzedSparseTensor
given = {"density": 0.5, "coalesced": True, "sparse_dim": 1}
fuzzed = FuzzedSparseTensor("x", size=(4,), cuda=True, **{name: name for name in given})
assert fuzzed._make_tensor(given, numpy.random.RandomState(0))[0].device == here
""",
    "gradient scaler": """
assert torch.amp.GradScaler().scale(torch.ones(2, device="cuda")).device == here
""",
    "moves": """
assert next(torch.nn.Linear(2, 2).cuda().parameters()).device == here
assert torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).cuda().data.device == here
assert torch.ones(2).untyped_storage().cuda().device == torch.ones(2).storage().cuda().device == here
""",
    "paged attention": """
from torch.nn.attention.experimental._paged_attention import PagedAttention
for pages in PagedAttention(4, 128, 2), PagedAttention(4, 128, 2, "cuda"), PagedAttention(4, 128, 2, device="cuda"):
    pages.reserve(torch.tensor(0, device="cuda"), torch.tensor(200, device="cuda"))
    assert pages.capacity.device == here and pages.capacity.tolist() == [256, 0]
assert PagedAttention(4, 128, 2, device="cpu").capacity.device.type == "cpu"
""",
    "saved tensors on the host": """
for given in {}, {"device_type": "cuda"}:
    x = torch.ones(3, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True, **given):
        (x * x).sum().backward()
    assert x.grad.device == here
""",
    "sharded gradient scaler": """
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
scaler = ShardedGradScaler(process_group=object())
assert scaler.scale(torch.ones(2, device="cuda")).device == here
""",
    "state of dropout in cuDNN's layers": """
assert torch.backends.cudnn.rnn.init_dropout_state(0.5, True, 1, {}) is None
""",
    # No default and no literal of torch's, but a private method that programs give a device.
    "bias of attention": """
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
import torch as stock
assert causal_upper_left(2, 3)._materialize("cuda").tolist() == [[True, False, False], [True, True, False]]
for device in "cuda", stock.device("cuda"):
    bias = causal_lower_right(2, 3)._materialize(device=device)
    assert bias.device == here and bias.tolist() == [[True, True, False], [True, True, True]]
""",
}

RUN = """
import json, sys, traceback, warnings
warnings.simplefilter("ignore")
import tdev as torch
here = torch.ones(1, device="cuda").device
failed = {}
for name, code in json.loads(sys.argv[1]).items():
    try:
        exec(code, {"torch": torch, "here": here})
    except torch.UnsupportedError as error:
        failed[name] = f"refused: {error}"
    except Exception:
        failed[name] = traceback.format_exc()
print(json.dumps(failed))
"""


def test_each_answer_has_a_call() -> None:
    assert set(DECISIONS["answered"].values()) == set(CALLS) - {"bias of attention"}


@pytest.mark.parametrize("backend", ["cpu", "sim", "mlx"])
def test_what_programs_reach_is_answered(backend: str) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx.core")
    settings = environment(TDEV_BACKEND=backend)
    done = python("-c", RUN, json.dumps(CALLS), env=settings, preload=COMPILER)
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout.splitlines()[-1])
    if backend == "mlx":
        assert failed.pop("fuzzed sparse tensors").startswith("refused: "), (
            "MLX has no sparse tensors"
        )
    assert not failed, "\n".join(failed.values())
