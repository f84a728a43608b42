"""TorchScript through the mirror: functions and modules that use wrapped names and device annotations."""

from __future__ import annotations

import io
import struct
import sys
import threading
import zipfile
from pathlib import Path
from typing import Optional

import pytest
import tdev as torch
import torch as stock

from tdev_core.backend import Backend, current

sys.path.insert(0, str(Path(__file__).parent))
import script_module  # noqa: E402

from tests.programs import run

pytestmark = [
    pytest.mark.skipif(current() is not Backend.CPU, reason="expects the CPU as the target"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
X = stock.ones(2)
NO_CUDA = "CUDA|NVIDIA"  # not compiled in, or without a driver


def factories(x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(2, device="cuda") + torch.ones_like(x, device="cuda:0")
    return made + torch.full([2], 2.0, device=torch.device("cuda", 0)) + x


def moves(x: torch.Tensor) -> torch.Tensor:
    return x.to("cuda") + x.to(torch.device("cuda")) + x.cuda() + x.to(device="cuda:0")


def in_a_branch(x: torch.Tensor) -> torch.Tensor:
    y = x
    if bool(x.sum() > 0):
        for _ in range(2):
            y = y.to("cuda:0") * 2
    return y


def annotated(
    x: torch.Tensor,
    device: Optional[torch.device] = None,  # noqa: UP045
) -> torch.Tensor:
    return torch.zeros(2, device=device) + x


def calls_another(x: torch.Tensor) -> torch.Tensor:
    return moves(x) + in_a_branch(x)


def compares(x: torch.Tensor) -> int:
    return 1 if x.device == torch.device("cuda") else 0


FUNCTIONS = [factories, moves, in_a_branch, annotated, calls_another, compares]


class Module(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, device="cuda")
        self.where = torch.device("cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return calls_another(self.layer(x.to(self.where))) + torch.zeros(2, device="cuda")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_scripted_function_does_what_it_does_unscripted(function: object) -> None:
    scripted = torch.jit.script(function)
    for _ in range(3):  # the second and third run are optimized
        result = scripted(X)
        expected = function(X)  # type: ignore[operator]
        assert (
            torch.equal(result, expected)
            if isinstance(result, stock.Tensor)
            else result == expected
        )


def test_a_function_with_the_name_of_another_is_translated() -> None:
    """As a cell of a notebook that is run again defines it, or two files each have a helper."""
    for _ in range(2):

        def helper(x: torch.Tensor) -> torch.Tensor:
            return x.to("cuda")

        def twice(x: torch.Tensor) -> torch.Tensor:
            return helper(x) + helper(x)

        assert torch.jit.script(twice)(X).tolist() == [2, 2]


def test_a_scripted_module_is_saved_and_loaded() -> None:
    module = Module()
    scripted = torch.jit.script(module)
    assert torch.equal(scripted(X), module(X))
    buffer = io.BytesIO()
    torch.jit.save(scripted, buffer)
    for location in (None, "cuda", "cpu", torch.device("cuda", 0)):
        buffer.seek(0)
        loaded = torch.jit.load(buffer, map_location=location)
        assert torch.equal(loaded(X), module(X))


def _saved(device: str) -> io.BytesIO:
    """A script whose weights say that they were saved from a device: as CUDA would have written them, but for that word."""
    written, buffer = io.BytesIO(), io.BytesIO()
    stock.jit.save(stock.jit.script(stock.nn.Linear(2, 2)), written)
    said = b"X%b" % struct.pack("<i", len(device)) + device.encode()
    with zipfile.ZipFile(written) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            raw = old.read(info)
            if info.filename.endswith("/data.pkl"):
                assert b"X\x03\x00\x00\x00cpu" in raw
                raw = raw.replace(b"X\x03\x00\x00\x00cpu", said)
            new.writestr(info, raw)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_a_script_lies_where_it_was_saved(backend: str, tmp_path: Path) -> None:
    """One of the CPU's is asked with tensors of the CPU; one of CUDA's goes to the device, as ``torch.load`` has them, too."""
    for device in ("cpu", "cuda:0"):
        (tmp_path / f"{device}.pt").write_bytes(_saved(device).getvalue())
    with pytest.raises(RuntimeError):
        stock.jit.load(tmp_path / "cuda:0.pt")
    code = """
        import io, sys, warnings
        import tdev as torch
        warnings.simplefilter("ignore")
        for device, expected in (("cpu", "cpu"), ("cuda:0", sys.argv[1])):
            with open(device + ".pt", "rb") as file:
                stream = io.BytesIO(file.read())
            for load, options in ((torch.jit.load, {}), (torch.load, {"weights_only": False})):
                for source in (device + ".pt", stream):
                    stream.seek(0)
                    loaded = load(source, **options)
                    assert {p.device.type for p in loaded.parameters()} == {expected}, (device, load)
                    x = torch.ones(1, 2, device="cpu" if device == "cpu" else "cuda")
                    assert loaded(x).device.type == expected
    """
    run(code, backend, cwd=tmp_path, TDEV_BACKEND=backend)


def test_a_file_that_names_cuda_is_loaded() -> None:
    """As a CUDA program would have written it: compiled by torch itself, nothing translated."""
    buffer = io.BytesIO()
    stock.jit.save(stock.jit.script(Holder()), buffer)
    buffer.seek(0)
    with pytest.raises(Exception, match=NO_CUDA):
        stock.jit.load(buffer)(X)
    buffer.seek(0)
    loaded = torch.jit.load(buffer)
    assert loaded(X).tolist() == [4, 4]


class Holder(stock.nn.Module):
    def forward(self, x: stock.Tensor) -> stock.Tensor:
        return outer(x) + stock.ones(2, device="cuda:0")


def outer(x: stock.Tensor) -> stock.Tensor:
    return inner(x) * 3


def inner(x: stock.Tensor) -> stock.Tensor:
    return x.to("cuda")


def test_a_move_in_a_script_copies() -> None:
    @torch.jit.script
    def clears(x: torch.Tensor) -> torch.Tensor:
        y, z, w = x.to("cuda"), x.cuda(), x.to(torch.device("cuda"))
        y.zero_()
        z.zero_()
        return w.zero_()

    x = stock.ones(2)
    clears(x)
    assert x.tolist() == [1, 1]


def test_gradients_flow_through_a_move_in_a_script() -> None:
    w = stock.ones(2, requires_grad=True)
    (torch.jit.script(moves)(w)).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [4, 4]


def test_names_are_looked_up_where_script_is_called() -> None:
    """For a class torch reads them off the frame that called it."""

    def helper(x: torch.Tensor) -> torch.Tensor:
        return x.to("cuda") * 5

    class Holds:
        def __init__(self, x: torch.Tensor) -> None:
            self.x = x

        def value(self) -> torch.Tensor:
            return helper(self.x)

    torch.jit.script(Holds)
    assert torch.jit.script(helper)(X).tolist() == [5, 5]


def test_names_are_found_while_calls_are_counted() -> None:
    """Counting puts a frame between the program and torch."""
    code = """
        import sys
        sys.path.insert(0, sys.argv[1])
        import test_jit
        test_jit.test_names_are_looked_up_where_script_is_called()
    """
    run(code, str(Path(__file__).parent), TDEV_REPORT="1")


def test_tracing() -> None:
    traced = torch.jit.trace(calls_another, (X,))
    assert torch.equal(traced(X), calls_another(X))
    module = Module()
    assert torch.equal(torch.jit.trace(module, (X,))(X), module(X))


@pytest.mark.parametrize("calls", ["0", "1"], ids=["in Python", "in C"])
def test_a_program_may_begin_with_a_trace(calls: str) -> None:
    """torch.jit.trace runs twice and compares where operators were called: devices are met for the first time there."""
    code = """
        import tdev as torch
        def program(x):
            y = x.to("cuda").cpu() + x.cuda(0).to("cpu") + torch.zeros(2, device="cuda:0").to(device="cpu")
            return y + x.new_ones(2, device="cuda").cpu() + torch.ones_like(x, device=torch.device("cuda")).to(x)
        assert torch.jit.trace(program, (torch.ones(2),))(torch.ones(2)).tolist() == [4, 4]
    """
    run(code, TDEV_C_CALLS=calls, TDEV_BACKEND="cpu")


def test_annotations_that_are_objects_and_not_text() -> None:
    module = script_module.Placed("cuda")
    assert torch.jit.script(module)(X).tolist() == module(X).tolist() == [2, 2]


def test_annotations_with_a_union_of_none() -> None:
    def union(x: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
        return torch.zeros(2, device=device) + x

    assert torch.jit.script(union)(X, torch.device("cuda")).tolist() == [1, 1]


def test_what_is_scripted_by_torch_itself_is_left_alone() -> None:
    """Other libraries in the process are not translated."""
    with pytest.raises(Exception, match=NO_CUDA):
        stock.jit.script(inner)(X)


def theirs(x: stock.Tensor) -> stock.Tensor:
    return x.to("cuda") + 1


class WhileAnotherThreadScripts(torch.nn.Module):
    """``torch.jit.script`` calls ``__prepare_scriptable__`` in its midst."""

    def __init__(self) -> None:
        super().__init__()
        self.by_another: list[stock.jit.ScriptFunction] = []

    def __prepare_scriptable__(self) -> torch.nn.Module:
        script = lambda: self.by_another.append(stock.jit.script(theirs))  # noqa: E731
        thread = threading.Thread(target=script)
        thread.start()
        thread.join()
        return Module()


def test_what_another_thread_scripts_meanwhile_is_left_alone() -> None:
    module = WhileAnotherThreadScripts()
    scripted = torch.jit.script(module)
    assert torch.equal(scripted(X), scripted(X))
    (by_another,) = module.by_another
    with pytest.raises(Exception, match=NO_CUDA):
        by_another(X)


class Mover:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x.to("cuda")

    def moved(self) -> torch.Tensor:
        return moves(self.x)


def makes_one(x: torch.Tensor) -> torch.Tensor:
    return Mover(x).moved()


def test_classes_and_what_their_methods_call() -> None:
    torch.jit.script(Mover)
    assert torch.equal(torch.jit.script(makes_one)(X), makes_one(X))


class TestNamesThatAreKnownAtRunTime:
    """``def f(x, device: str)``: the translation is part of the graph."""

    @staticmethod
    def all_forms(x: torch.Tensor, device: str, index: int) -> torch.Tensor:
        y = torch.zeros(2, device=device) + x.to(device) + x.to(torch.device(device))
        z = torch.ones_like(x, device=torch.device(device, index)) + x.to("cuda:" + str(index))
        return y + z.to(device=device, dtype=torch.float32)

    @pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps", "cpu"])
    def test_it_does_what_it_does_unscripted(self, device: str) -> None:
        scripted = torch.jit.script(self.all_forms)
        kind = device.partition(":")[0]
        for _ in range(3):
            result = scripted(X, kind, 0)
            assert torch.equal(result, self.all_forms(X, kind, 0))
        assert scripted(X, "cpu", 0).device == X.device

    def test_meta_and_unknown_names_are_torchs(self) -> None:
        @torch.jit.script
        def made(device: str) -> torch.Tensor:
            return torch.zeros(2, device=device)

        assert made("meta").device.type == "meta"
        assert made("cuda:3").device == made("xpu").device == stock.device("cpu")
        with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
            made("gpu")

    def test_only_a_translated_move_copies(self) -> None:
        @torch.jit.script
        def cleared(x: torch.Tensor, device: str) -> torch.Tensor:
            return x.to(device).zero_()

        x = stock.ones(2)
        cleared(x, "cuda")
        assert x.tolist() == [1, 1]
        cleared(x, "cpu")
        assert x.tolist() == [0, 0]

    def test_a_device_that_is_handed_over_is_used_as_it_is(self) -> None:
        @torch.jit.script
        def f(x: torch.Tensor, device: torch.device) -> torch.Tensor:
            return x.to(device) + torch.zeros(2, device=device)

        assert f(X, torch.device("cuda")).tolist() == [1, 1]
        assert f(X, torch.device("meta")).device.type == "meta"

    def test_methods_and_what_they_call(self) -> None:
        class Moves(torch.nn.Module):
            def forward(self, x: torch.Tensor, device: str) -> torch.Tensor:
                return self.moved(x, device) + named(x, device)

            def moved(self, x: torch.Tensor, device: str) -> torch.Tensor:
                return x.to(device) * 2

        assert torch.jit.script(Moves())(X, "cuda").tolist() == [3, 3]

    def test_torch_alone_loads_what_was_saved(self) -> None:
        buffer = io.BytesIO()
        torch.jit.save(torch.jit.script(Named()), buffer)
        for load in (stock.jit.load, torch.jit.load):
            buffer.seek(0)
            assert load(buffer)(X, "cuda").tolist() == [1, 1]

    def test_a_file_that_learns_its_device_is_loaded(self) -> None:
        buffer = io.BytesIO()
        stock.jit.save(stock.jit.script(NamedByTorch()), buffer)
        buffer.seek(0)
        with pytest.raises(Exception, match=NO_CUDA):
            stock.jit.load(buffer)(X, "cuda")
        buffer.seek(0)
        assert torch.jit.load(buffer)(X, "cuda").tolist() == [1, 1]

    @pytest.mark.parametrize("backend", ["sim", "mlx"])
    def test_other_backends(self, backend: str) -> None:
        if backend == "mlx":
            pytest.importorskip("mlx.core", reason="MLX is not installed")
        code = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import script_module, tdev as torch
            scripted = torch.jit.script(script_module.named)
            x = torch.ones(2)
            assert scripted(x, "cuda").device == torch.device(sys.argv[2], 0)
            assert scripted(x, "cuda:7").device == torch.device(sys.argv[2], 0)
            assert scripted(x, "cpu").device == torch.device("cpu")
        """
        run(code, str(Path(__file__).parent), backend, TDEV_BACKEND=backend)


named = script_module.named


class Named(stock.nn.Module):
    def forward(self, x: stock.Tensor, device: str) -> stock.Tensor:
        return named(x, device)


class NamedByTorch(stock.nn.Module):
    def forward(self, x: stock.Tensor, device: str) -> stock.Tensor:
        return x.to(device)
