"""Everything a CUDA program says inside of a compiled function is one graph wherever it is one on CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.backend import Backend, current
from tests.programs import COMPILER, run

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="picks the backend for each of its programs"
)

PROGRAM = """
    import runpy, sys
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
# Inductor takes seconds for each function; these are the ones that leave something in a graph.
WITH_EFFECTS = (
    "a_new_stream",
    "an_event_between_streams",
    "an_event_that_a_stream_makes",
    "a_stream_with_arguments",
    "gives_memory_back",
    "new_tensors",
    "record_stream",
    "types_by_name",
)


def problems(backend: str, compiler: str, *names: str, **environment: str) -> str:
    table = str(Path(__file__).parent / "compiled_calls.py")
    settings = {"TDEV_BACKEND": backend, **environment}
    # Without the module in C, tdev has to be imported before the compiler.
    preload = () if "TDEV_C_CALLS" in settings else COMPILER
    return run(PROGRAM, table, compiler, *names, preload=preload, **settings)


# What dynamo traces for "eager", it traces for "aot_eager" too, which then makes the graph functional.
@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.deep
def test_compiled_functions_do_what_they_do_uncompiled(backend: str) -> None:
    assert problems(backend, "aot_eager") == ""


@pytest.mark.parametrize(
    ("compiler", "names"),
    [("aot_eager", WITH_EFFECTS), ("eager", ())],
    ids=["with effects", "all are traced"],
)
def test_they_do_on_sim(compiler: str, names: tuple[str, ...]) -> None:
    assert problems("sim", compiler, *names) == ""


def test_they_do_without_the_module_in_c() -> None:
    names = ("methods_through_their_class", "functions_as_values")
    assert problems("cpu", "aot_eager", *names, TDEV_C_CALLS="0") == ""


@pytest.mark.parametrize(
    "names", [WITH_EFFECTS, pytest.param((), marks=pytest.mark.deep)], ids=["with effects", "all"]
)
def test_they_do_on_mlx(names: tuple[str, ...]) -> None:
    pytest.importorskip("mlx.core", reason="MLX is not installed")
    assert problems("mlx", "eager", *names) == ""


@pytest.mark.inductor
@pytest.mark.deep
def test_inductor_keeps_what_has_an_effect() -> None:
    assert problems("cpu", "inductor", *WITH_EFFECTS) == ""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_effects_happen_at_every_call(backend: str) -> None:
    code = """
        import sys
        import tdev as torch
        from tdev_core.cuda.memory import usage

        timed = torch.cuda.Event(enable_timing=True)
        made = []

        def f(x):
            timed.record()
            made_here = torch.cuda.Event(enable_timing=True)
            made_here.record()
            torch.cuda.reset_peak_memory_stats()
            return x + 1, made_here

        for compiler in ("eager", "aot_eager"):
            torch._dynamo.reset()
            compiled = torch.compile(f, backend=compiler, fullgraph=True)
            x = torch.ones(4, device="cuda")
            compiled(x)
            times = []
            for _ in range(3):
                held = torch.zeros(1 << 20, device="cuda")
                before = torch.cuda.max_memory_allocated()  # on the CPU a peak is what was read
                del held
                y, made_here = compiled(x)
                assert torch.cuda.max_memory_allocated() < before
                assert isinstance(made_here, torch.cuda.Event), made_here
                assert timed.elapsed_time(made_here) > 0
                made.append(made_here)
                times.append(timed.cuda_event)
            assert len(set(map(id, made))) == len(made)
            first = torch.cuda.Event(enable_timing=True)
            first.record()
            compiled(x)
            assert first.elapsed_time(timed) > 0
    """
    run(code, preload=COMPILER, TDEV_BACKEND=backend)


def test_tdev_may_be_imported_after_the_compiler_and_again() -> None:
    code = """
        import importlib
        import torch._dynamo
        import tdev
        importlib.reload(tdev)

        def f(x):
            side = tdev.cuda.Stream()
            with tdev.cuda.stream(side):
                tdev.cuda.empty_cache()
                return x.new_tensor([1.0], device="cuda") + x

        assert tdev.compile(f, backend="eager", fullgraph=True)(tdev.ones(1)).tolist() == [2]
    """
    run(code, TDEV_BACKEND="cpu")


def test_what_other_programs_compile_is_torchs() -> None:
    """A stand-in's shim answers for tdev's objects alone; without shims the compiler is torch's own."""
    code = """
        import tdev
        import torch
        from torch._dynamo.variables import streams, tensor, user_defined
        from torch._dynamo.variables.builder import VariableBuilder

        patched = {
            VariableBuilder: ["_wrap"],
            streams.StreamVariable: ["call_method", "python_type"],
            streams.SymbolicStreamState: ["cur_stream"],
            tensor.TensorVariable: ["call_method"],
            user_defined.UserDefinedClassVariable: ["call_function"],
        }
        for cls, names in patched.items():
            for name in names:
                assert vars(cls)[name].__module__.startswith("torch."), name
                assert hasattr(vars(cls)[name], "__wrapped__"), (cls, name)
        originals = {(c, n): vars(c)[n].__wrapped__ for c, ns in patched.items() for n in ns}
        tdev.shims.uninstall()
        assert all(getattr(c, n) is original for (c, n), original in originals.items())
        f = torch.compile(lambda x: x.new_tensor([1.0]) + x, backend="eager", fullgraph=True)
        assert f(torch.ones(1)).tolist() == [2]
    """
    run(code, TDEV_BACKEND="cpu")
