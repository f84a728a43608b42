"""Exported programs and graph modules that hold CUDA as a constant run on whatever is here."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from tests.programs import COMPILER, run

BACKENDS = ["cpu", "sim"]

# A program in which every kind of device is written down: weights, buffers (one without elements),
# a constant, factories, moves, and example inputs.
EXPORT = """
    import sys, torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.register_buffer("steps", torch.arange(2.0))
            self.register_buffer("nothing", torch.zeros(0))
            self.constant = torch.ones(2)
        def forward(self, x):
            new = torch.zeros(2, device=x.device) + torch.arange(2, device=x.device)
            wide = torch.ones_like(x, device=x.device).to(torch.device("cpu"), torch.float64)
            return self.layer(x) + new + wide.float() + self.steps + self.constant + self.nothing.sum()
    model, x = Model(), torch.ones(1, 2)
    torch.export.save(torch.export.export(model, (x,)), sys.argv[1])
    print(model(x).tolist())
"""
LOAD = """
    import sys
    import tdev as torch
    extra = {"note.txt": ""}
    program = torch.export.load(sys.argv[1], extra_files=extra)
    here = torch.ones(1, device="cuda").device
    (x,), _ = program.example_inputs
    tensors = [x, *program.state_dict.values(), *program.constants.values()]
    assert {tensor.device for tensor in tensors} == {here}
    values = [node.meta.get("val") for node in program.graph.nodes]
    values = [v for v in torch.utils._pytree.tree_leaves(values) if isinstance(v, torch.Tensor)]
    assert len(values) > 10 and {value.device for value in values} == {here}
    again = program.module()(torch.ones(1, 2, device="cuda"))
    assert again.device == here
    print(again.tolist())
"""


def as_from_cuda(path: Path) -> None:
    """Rewrite an archive to what ``torch.export.save`` writes where everything lies on ``cuda:0``."""
    with zipfile.ZipFile(path) as source:
        entries = [(entry, source.read(entry)) for entry in source.infolist()]
    with zipfile.ZipFile(path, "w") as target:
        for entry, data in entries:
            if entry.filename.endswith(".json"):
                data = re.sub(rb'"type": "cpu", "index": null', b'"type": "cuda", "index": 0', data)
            elif entry.filename.endswith(".pt"):
                data = _retagged(data)
            target.writestr(entry, data)


def _retagged(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(made, "w") as target:
        for entry in source.infolist():
            old, new = b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"
            target.writestr(entry, source.read(entry).replace(old, new))
    return made.getvalue()


@pytest.mark.parametrize(
    "backend", [b if b == "sim" else pytest.param(b, marks=pytest.mark.deep) for b in BACKENDS]
)
def test_a_program_that_was_exported_on_cuda(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "program.pt2"
    wanted = run(EXPORT, str(path), preload=COMPILER)
    as_from_cuda(path)
    assert b'"type": "cuda"' in path.read_bytes()
    with pytest.raises(AssertionError, match="not compiled with CUDA|NVIDIA driver|No CUDA GPUs"):
        run("import sys, torch; torch.export.load(sys.argv[1])", str(path))
    assert run(LOAD, str(path), preload=COMPILER, TDEV_BACKEND=backend) == wanted


def test_it_loads_without_shims_too(tmp_path: Path) -> None:
    path = tmp_path / "program.pt2"
    wanted = run(EXPORT, str(path), preload=COMPILER)
    as_from_cuda(path)
    assert run(LOAD, str(path), preload=COMPILER, TDEV_BACKEND="cpu", TDEV_SHIMS="0") == wanted


def test_other_loads_still_see_torchs_truth(tmp_path: Path) -> None:
    """Loading a program registers a way to restore storages; it answers inside of that call only."""
    code = """
        import io, sys, pytest
        import tdev
        import torch
        program = tdev.export.export(tdev.nn.Linear(2, 2), (tdev.ones(1, 2),))
        data = io.BytesIO()
        tdev.export.save(program, data)
        data.seek(0)
        tdev.export.load(data)
        with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
            torch.load(sys.argv[1])
    """
    path = tmp_path / "tensor.pt"
    run("import sys, torch; torch.save(torch.ones(2), sys.argv[1])", str(path))
    path.write_bytes(_retagged(path.read_bytes()))
    run(code, str(path), preload=COMPILER, TDEV_BACKEND="cpu")


# A graph module as CUDA users pickle it: constants as strings, as devices, and in moves; one node
# takes no value of the graph, so that reading the pickle runs it.
PICKLE = """
    import pickle, sys, torch
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
        def forward(self, x):
            moved = torch.ones_like(x, device="cpu") + torch.zeros_like(x, device=torch.device("cpu"))
            return self.layer(x.to("cpu")) + moved
    module, x = torch.fx.symbolic_trace(Model()), torch.ones(1, 2)
    print(module(x).tolist())
    cuda = {str: "cuda", torch.device: torch.device("cuda", 0)}
    *_, output = module.graph.nodes
    for node in module.graph.nodes:
        if "device" in node.kwargs:
            node.kwargs = {**node.kwargs, "device": cuda[type(node.kwargs["device"])]}
        if node.target == "to":
            node.args = (node.args[0], "cuda")
    with module.graph.inserting_before(output):
        zeros = module.graph.call_function(torch.zeros, (2,), {"device": torch.device("cuda")})
        output.args = (module.graph.call_function(torch.add, (output.args[0], zeros)),)
    module.recompile()
    assert "device = 'cuda'" in module.code and "device(type='cuda', index=0)" in module.code
    with open(sys.argv[1], "wb") as file:
        pickle.dump(module, file)
"""
UNPICKLE = """
    import pickle, sys
    import tdev as torch
    with open(sys.argv[1], "rb") as file:
        module = pickle.load(file).cuda()
    x = torch.ones(1, 2, device="cuda")
    result = module(x)
    assert result.device == x.device == torch.fx.Interpreter(module).run(x).device
    print(result.tolist())
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pickled_graph_module(tmp_path: Path, backend: str) -> None:
    path = str(tmp_path / "module.pkl")
    wanted = run(PICKLE, path)
    assert run(UNPICKLE, path, TDEV_BACKEND=backend) == wanted


@pytest.mark.parametrize("backend", BACKENDS)
def test_constants_that_a_pass_writes_into_a_graph(backend: str) -> None:
    """A pass of another library, which knows torch's own names only."""
    run(
        """
        import torch as stock
        import tdev as torch
        module = torch.fx.symbolic_trace(lambda x: torch.nn.functional.relu(x))
        *_, output = module.graph.nodes
        with module.graph.inserting_before(output):
            ones = module.graph.call_function(stock.ones, (2,), {"device": "cuda"})
            moved = module.graph.call_function(
                stock.ops.aten.to.device, (ones, stock.device(type="cuda", index=0), stock.float64)
            )
            output.args = (module.graph.call_function(stock.add, (output.args[0], moved)),)
        module.recompile()
        x = torch.ones(2, device="cuda")
        assert module(x).tolist() == [2, 2] and module(x).device == x.device
        untouched = [n for n in module.graph.nodes if n.op == "placeholder"]
        assert untouched[0].args == ()
        """,
        TDEV_BACKEND=backend,
    )


def test_what_means_the_cpu_or_no_device_is_left_alone() -> None:
    run(
        """
        import tdev as torch
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        at = graph.placeholder("at")
        kept = [
            graph.call_function(torch.ones, (2,), {"device": "cpu"}),
            graph.call_function(torch.ones, (2,), {"device": "meta"}),
            graph.call_function(torch.zeros_like, (x,), {"device": at}),
            graph.call_function(torch.add, (x, x), {"device": "no device"}),
            graph.call_method("split", ("cuda",)),
        ]
        before = [(node.args, node.kwargs) for node in kept]
        graph.output(tuple(kept))
        graph.python_code("self")
        assert [(node.args, node.kwargs) for node in kept] == before
        """,
        TDEV_BACKEND="cpu",
    )
