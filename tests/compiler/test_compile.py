"""Compilers by the names that CUDA programs use, and backends of one's own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tdev
import torch

from tdev_core.backend import Backend, current
from tdev_core.compiler import compile as compiling
from tdev_core.errors import DeviceWarning, _warned
from tdev_core.release import torch_release

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU,
    reason="what stands in for CUDA's compilers is asserted for the CPU",
)

ROOT = Path(__file__).parents[2]


_HANDED_ON = {  # what torch is asked for is looked at, and not compiled
    "test_an_older_torch_is_told_what_the_program_said_and_no_more",
    "test_backend_for_cuda",
    "test_backend_that_runs_here",
    "test_bad_input_is_torchs_error",
}


@pytest.fixture(autouse=True)
def _fresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.node.originalname in _HANDED_ON and shutil.which("g++") is None:
        monkeypatch.setenv("CXX", sys.executable)  # any program that is there
    _warned.clear()
    yield
    torch.compiler.reset()


def test_an_older_torch_is_told_what_the_program_said_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its default backend is a name, where that of the torch of this mirror is None."""

    def older(
        model: Any = None,
        *,
        fullgraph: bool = False,
        dynamic: bool | None = None,
        backend: Any = "inductor",
        mode: str | None = None,
        options: Any = None,
        disable: bool = False,
    ) -> Any:
        return backend, mode, fullgraph

    monkeypatch.setattr(torch, "compile", older)
    monkeypatch.setattr(compiling, "_parameters", lambda: frozenset(older.__kwdefaults__))
    assert tdev.compile(wave, mode="reduce-overhead") == ("inductor", "reduce-overhead", False)
    assert tdev.compile(wave, backend="eager", fullgraph=True) == ("eager", None, True)


def wave(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2


def quietly(options: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        return compiling.for_host(options)


# -- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "honoured"),
    [
        ({"backend": "cudagraphs"}, {"backend": "aot_eager"}),
        ({"backend": "aot_cudagraphs"}, {"backend": "aot_eager"}),
        (
            {"backend": "cudagraphs", "mode": "max-autotune"},
            {"backend": "aot_eager", "mode": None},
        ),
        ({"backend": "tensorrt"}, {"backend": "inductor"}),
        ({"backend": "torch_tensorrt"}, {"backend": "inductor"}),
        ({"backend": "onnxrt"}, {"backend": "inductor"}),
        (
            {"backend": "tensorrt", "options": {"precision": "fp16"}, "dynamic": True},
            {"backend": "inductor", "options": None, "dynamic": True},
        ),
        ({"backend": "onnxrt", "mode": "default"}, {"backend": "inductor", "mode": "default"}),
    ],
)
def test_backend_for_cuda(given: dict[str, Any], honoured: dict[str, Any]) -> None:
    before = dict(given)
    with pytest.warns(DeviceWarning, match=rf"backend='{given['backend']}'.* is used"):
        assert compiling.for_host(given) == honoured
    assert given == before


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"backend": None},
        {"backend": "inductor", "mode": "max-autotune"},
        {"mode": "reduce-overhead"},
        {"options": {"triton.cudagraphs": True}},
        {"backend": "eager"},
        {"backend": "aot_eager"},
        {"backend": "nonsense"},  # torch's error
        {"backend": wave},
        {"backend": "cudagraphs", "disable": True},
    ],
)
def test_backend_that_runs_here(given: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviceWarning)
        assert compiling.for_host(given) == given


def test_one_warning_for_each_name() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            tdev.compile(wave, backend="cudagraphs")
            tdev.compile(wave, backend="tensorrt")
    assert sum(warning.category is DeviceWarning for warning in caught) == 2


def test_name_that_a_package_registered() -> None:
    registry = torch._dynamo.backends.registry
    tdev._dynamo.register_backend(lambda graph, inputs: graph.forward, name="onnxrt")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeviceWarning)
            assert compiling.for_host({"backend": "onnxrt"}) == {"backend": "onnxrt"}
    finally:
        registry._BACKENDS.pop("onnxrt")
        registry._COMPILER_FNS.pop("onnxrt", None)


@pytest.mark.parametrize("named", [None, "inductor", "tensorrt"])
def test_without_a_cpp_compiler(named: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/no/such/compiler")
    with pytest.warns(DeviceWarning, match="'aot_eager' is used"):
        found = compiling.for_host({"backend": named, "mode": "max-autotune"})
    assert found == {"backend": "aot_eager", "mode": None}


@pytest.mark.parametrize(
    ("backend", "instead"), [(Backend.SIM, "aot_eager"), (Backend.MLX, "mlx"), (Backend.MPS, None)]
)
def test_devices_without_code_generator(
    backend: Backend, instead: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "current", lambda: backend)
    assert quietly({}).get("backend") == instead
    assert quietly({"backend": "inductor"})["backend"] == (instead or "inductor")
    assert quietly({"backend": "tensorrt"})["backend"] == (instead or "inductor")
    assert quietly({"backend": "cudagraphs"})["backend"] == "aot_eager"


# -- running ------------------------------------------------------------------------------------


@pytest.mark.inductor
@pytest.mark.parametrize("backend", ["cudagraphs", "tensorrt", "onnxrt", "inductor"])
def test_compiled_by_backend(backend: str) -> None:
    x = torch.randn(8, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tdev.compile(wave, backend=backend, fullgraph=True)(x)
        (gradient,) = torch.autograd.grad(found.sum(), x)
    assert torch.allclose(found, wave(x)) and torch.allclose(gradient, 2 * torch.cos(x))


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "reduce-overhead"},
        {"mode": "max-autotune"},
        {"mode": "max-autotune-no-cudagraphs"},
        {"options": {"triton.cudagraphs": True}},
    ],
    ids=str,
)
@pytest.mark.inductor
def test_compiled_by_mode(options: dict[str, Any]) -> None:
    x = torch.randn(8)
    assert torch.allclose(tdev.compile(wave, **options)(x), wave(x))


@pytest.mark.inductor
def test_as_decorator_and_under_its_second_name() -> None:
    x = torch.randn(4)

    @tdev.compile(backend="cudagraphs", fullgraph=True)
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return wave(x)

    with pytest.warns(DeviceWarning, match="tensorrt"):
        second = tdev.compiler.compile(wave, backend="tensorrt")
    assert torch.allclose(decorated(x), wave(x)) and torch.allclose(second(x), wave(x))


def test_modules_own_method() -> None:
    module: Any = torch.nn.Linear(3, 2)
    plain = module(torch.ones(1, 3))
    with pytest.warns(DeviceWarning, match="cudagraphs"):
        module.compile(backend="cudagraphs")
    assert torch.allclose(module(torch.ones(1, 3)), plain)


@pytest.mark.skipif(torch_release < (2, 13), reason="torch has a default backend since 2.13")
def test_default_backend() -> None:
    before = torch.compiler.get_default_backend()
    try:
        with pytest.warns(DeviceWarning, match="cudagraphs"):
            tdev.compiler.set_default_backend("cudagraphs")
        assert torch.compiler.get_default_backend() == "aot_eager"
        assert torch.allclose(tdev.compile(wave)(torch.ones(2)), wave(torch.ones(2)))
    finally:
        torch.compiler.set_default_backend(before)


def test_bad_input_is_torchs_error() -> None:
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="nonsense"):
        tdev.compile(wave, backend="nonsense")(torch.ones(2))
    with pytest.raises(RuntimeError, match="Unrecognized mode=nonsense"):
        tdev.compile(wave, mode="nonsense")
    with pytest.raises(RuntimeError, match="Either mode or options"):
        tdev.compile(wave, mode="default", options={})


# -- backends of one's own ----------------------------------------------------------------------


def test_registering_is_torchs_own() -> None:
    import tdev._dynamo

    assert tdev._dynamo.register_backend is torch._dynamo.register_backend
    assert tdev.compiler.list_backends is torch.compiler.list_backends
    assert tdev._C._jit_to_backend is torch._C._jit_to_backend


def test_the_page_about_backends_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "custom_backend.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 4
    registry = torch._dynamo.backends.registry
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # torch before 2.13 imports it
    try:
        exec(compile("\n".join(blocks), "custom_backend.md", "exec"), vars(module))
    finally:
        registry._BACKENDS.pop("noting", None)
        registry._COMPILER_FNS.pop("noting", None)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + 1


def test_jit_backend_that_nobody_registered() -> None:
    scripted = tdev.jit.script(Scaled())
    with pytest.raises(RuntimeError, match="backend tensorrt is not registered"):
        tdev._C._jit_to_backend("tensorrt", scripted, {"forward": ""})


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


DEMONSTRATION = Path(torch.__file__).parent / "lib" / "libbackend_with_compiler.so"


@pytest.mark.skipif(not DEMONSTRATION.exists(), reason="this torch came without its own example")
def test_jit_backend_of_torch_lowers_a_module(tmp_path: Path) -> None:
    tdev.ops.load_library(str(DEMONSTRATION))
    spec = {"forward": {"some_compiler_option": "True"}}
    scripted = tdev.jit.script(Sum())
    lowered = tdev._C._jit_to_backend("backend_with_compiler_demo", scripted, spec)
    one = torch.ones(1)
    assert torch.equal(lowered(one, one), one + one)
    lowered.save(str(tmp_path / "lowered.pt"))
    assert torch.equal(tdev.jit.load(str(tmp_path / "lowered.pt"))(one, one), one + one)


@pytest.mark.deep
@pytest.mark.skipif(shutil.which("g++") is None, reason="a TorchScript backend is a C++ library")
def test_jit_backend_of_ones_own_lowers_a_module(tmp_path: Path) -> None:
    from torch.utils import cpp_extension

    library = tmp_path / "jit_backend.so"
    command = ["g++", "-std=c++20", "-O0", "-shared", "-fPIC"]
    command += [f"-I{path}" for path in cpp_extension.include_paths()]
    command += [str(Path(__file__).with_name("jit_backend.cpp")), "-o", str(library)]
    command += [f"-L{path}" for path in cpp_extension.library_paths()]
    command += ["-ltorch", "-ltorch_cpu", "-lc10"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-2000:]
    tdev.ops.load_library(str(library))
    module = Scaled()
    lowered = tdev._C._jit_to_backend("tdev_test_echo", tdev.jit.script(module), {"forward": ""})
    x = torch.tensor([1.0, 1.0])
    assert torch.equal(lowered(x), module(x))
    lowered.save(str(tmp_path / "lowered.pt"))
    assert torch.equal(tdev.jit.load(str(tmp_path / "lowered.pt"))(x), module(x))
