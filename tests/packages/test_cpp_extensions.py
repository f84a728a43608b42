"""Extensions with CUDA sources off CUDA: their C++ is built where it stands alone, else the kernels are named.

Most sources here need Python's header alone, which compiles in a second; torch's takes half a minute.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from tdev_core.errors import DeviceWarning, TdevError, UnsupportedError
from tdev_core.packages import cpp_extensions

compiles = pytest.mark.skipif(
    not (cpp_extension.is_ninja_available() and shutil.which("c++")),
    reason="torch builds extensions with ninja and a C++ compiler",
)

HELPED = """
#include <Python.h>
#ifdef WITH_CUDA
#include <cuda_runtime.h>
long twice_cuda(long x);
#endif
static PyObject* twice(PyObject*, PyObject* x) {
#ifdef WITH_CUDA
    return PyLong_FromLong(twice_cuda(PyLong_AsLong(x)));
#else
    return PyLong_FromLong(2 * PyLong_AsLong(x));
#endif
}
static PyMethodDef methods[] = {{"twice", twice, METH_O, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "@", "", -1, methods};
PyMODINIT_FUNC PyInit_@(void) { return PyModule_Create(&module); }
"""
KERNEL = """
#include <cuda_runtime.h>
__global__ void twice_kernel(long* x) { *x *= 2; }
long twice_cuda(long x) { twice_kernel<<<1, 1>>>(&x); return x; }
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "built"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_text(KERNEL)


def cpp(name: str, text: str = HELPED) -> str:
    path = Path(f"{name}.cpp")
    path.write_text(text.replace("@", name))
    return str(path)


@compiles
def test_the_cpp_beside_the_kernel_is_built_and_that_is_said_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = [cpp("tdev_twice"), "k.cu"]
    flags = ["-DWITH_CUDA", "-O0"]
    with pytest.warns(
        DeviceWarning, match="'tdev_twice' is built from tdev_twice.cpp alone"
    ) as told:
        module = cpp_extensions.load(
            "tdev_twice", sources, extra_cflags=flags, extra_ldflags=["-lcudart", "-lcublas"],
            extra_cuda_cflags=["--use_fast_math"],
        )  # fmt: skip
    assert module.twice(21) == 42
    assert "its kernel is twice_kernel (k.cu:3), which is left out" in str(told[0].message)
    assert told[0].filename == __file__
    assert flags == ["-DWITH_CUDA", "-O0"] and sources[1] == "k.cu", "the caller's lists stay"


@compiles
def test_text_beside_cuda_text_is_built() -> None:
    text = HELPED.replace("@", "tdev_inline")
    with pytest.warns(DeviceWarning, match=r"twice_kernel \(cuda_sources\[0\]:3\)"):
        module = cpp_extensions.load_inline(
            "tdev_inline", [text], [KERNEL], extra_cflags=["-O0"], no_implicit_headers=True
        )
    assert module.twice(4) == 8


@compiles
def test_what_has_no_cuda_is_torchs_own(recwarn: pytest.WarningsRecorder) -> None:
    module = cpp_extensions.load("tdev_plain", cpp("tdev_plain"), extra_cflags=["-O0"])
    assert module.twice(3) == 6
    assert not [w for w in recwarn if isinstance(w.message, DeviceWarning)]


def test_cpp_that_calls_cuda_is_refused_before_anything_is_compiled() -> None:
    text = "long twice_cuda(long x);\nlong run(long x) { return twice_cuda(x); }"
    with pytest.raises(UnsupportedError) as error:
        cpp_extensions.load("lent", [cpp("lent", text), "k.cu"])
    assert str(error.value).startswith(
        "the extension 'lent' needs CUDA: its kernel is twice_kernel (k.cu:3), and its lent.cpp uses twice_cuda, which its "
        "CUDA sources alone define."
    )
    assert error.value.code == "TDEV113"
    assert not Path("built").exists()


def test_text_whose_functions_are_cudas_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"cpp_sources uses twice_cuda, which its CUDA"):
        cpp_extensions.load_inline("a", "long twice_cuda(long x);", KERNEL, ["twice_cuda"])
    with pytest.raises(
        UnsupportedError, match=r"twice_kernel \(cuda_sources\[0\]:3\), and it has no C"
    ):
        cpp_extensions.load_inline("a", "", KERNEL, {"twice_cuda": "doubles"})


@pytest.mark.parametrize(
    ("sources", "why"),
    [
        (["k.cu"], "and it has no C++ source"),
        (["a.cpp", "k.cu"], "and its a.cpp includes ATen/cuda/CUDAContext.h"),
        (["b.cpp", "none.cu"], "its CUDA sources have no kernel that could be read, and its a.h includes cuda.h"),
    ],
)  # fmt: skip
def test_what_needs_cuda_says_why(sources: list[str], why: str) -> None:
    Path("a.cpp").write_text("#include <ATen/cuda/CUDAContext.h>\n")
    Path("b.cpp").write_text('#include "a.h"\n')
    Path("a.h").write_text("#include <cuda.h>\n")
    Path("none.cu").write_text("#define KERNEL(name) LAUNCH(name)\n")
    with pytest.raises(UnsupportedError) as error:
        cpp_extensions.load("needs", sources)
    assert why in str(error.value)


@compiles
def test_what_only_the_compiler_and_the_linker_find_names_the_kernel_too() -> None:
    borrowed = HELPED.replace("return PyLong_FromLong(2", "extern long (from_cuda)(long); from_cuda(1); return PyLong_FromLong(2")  # fmt: skip
    for name, text, why in (
        ("tdev_symbol", borrowed, "undefined symbol"),
        ("tdev_broken", HELPED.replace("nullptr, 0", "nowhere, 0"), "error: .nowhere. was not"),
    ):
        with pytest.raises(UnsupportedError, match=rf"twice_kernel \(k.cu:3\), and its C.*{why}"):
            cpp_extensions.load(name, [cpp(name, text), "k.cu"], extra_cflags=["-O0"])


def test_a_missing_file_is_the_programs_slip() -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.cu"):
        cpp_extensions.load("m", [cpp("m"), "nothing.cu"])
    with pytest.raises(FileNotFoundError, match=r"nothing\.cpp"):
        cpp_extensions.load("m", ["nothing.cpp", "k.cu"])


def test_without_ninja_torch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="Ninja is required"):
        cpp_extensions.load("tdev_no_ninja", [cpp("tdev_no_ninja"), "k.cu"])


@pytest.mark.skipif(
    not cpp_extension.is_ninja_available(), reason="it is asked for before the compiler"
)
def test_without_a_compiler_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ninja").symlink_to(shutil.which("ninja") or "ninja")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(TdevError, match=r"there is no C\+\+ compiler \(c\+\+\): install one"):
        cpp_extensions.load("tdev_no_compiler", [cpp("tdev_no_compiler"), "k.cu"])


def test_cuda_extension_is_its_cpp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(cpp_extension, "CUDA_HOME", str(tmp_path))  # libraries, and no compiler
    options: dict[str, Any] = {
        "define_macros": [("WITH_CUDA", None), ("FAST", "1")],
        "libraries": ["cublas", "m", "cudart"],
        "extra_compile_args": {"cxx": ["-O2", "-DWITH_CUDA"], "nvcc": ["-O2", "--use_fast_math"]},
        "extra_link_args": ["-lcuda", "-lm"],
        "dlink": True,
        "dlink_libraries": ["a"],
    }
    with pytest.warns(DeviceWarning, match="'pkg._C' is built from helped.cpp alone"):
        made = cpp_extensions.cuda_extension("pkg._C", [cpp("helped"), "k.cu"], **options)
    assert made.sources == ["helped.cpp"]
    assert made.define_macros == [("FAST", "1")]
    assert made.libraries[:1] == ["m"] and not {"cublas", "cudart", "c10_cuda"} & {*made.libraries}
    assert made.extra_compile_args == ["-O2"]
    assert made.extra_link_args == ["-lm"]
    assert options["define_macros"][0] == ("WITH_CUDA", None), "the caller's lists stay"
    with pytest.raises(
        UnsupportedError, match=r"its kernel is twice_kernel \(k.cu:3\), and it has no"
    ):
        cpp_extensions.cuda_extension("pkg._D", ["k.cu"])


def test_cuda_extension_is_torchs_where_it_can_be_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(cpp_extension, "CUDA_HOME", str(tmp_path))
    compiler = tmp_path / "bin" / ("nvcc.exe" if sys.platform == "win32" else "nvcc")
    compiler.parent.mkdir()
    compiler.touch(0o755)
    made = cpp_extensions.cuda_extension("pkg._C", ["k.cu"])
    assert made.sources == ["k.cu"] and "cudart" in made.libraries


@pytest.mark.deep
@compiles
@pytest.mark.parametrize("ninja", [True, False])
@pytest.mark.parametrize(("package", "run"), [("tdev", ()), ("torch", ("-m", "tdev", "run"))])
def test_a_setup_script_builds_it(
    tmp_path: Path, package: str, run: tuple[str, ...], ninja: bool
) -> None:
    name = cpp(f"{package}_built_{ninja:d}").removesuffix(".cpp")
    (tmp_path / "setup.py").write_text(
        f"from setuptools import setup\nfrom {package}.utils.cpp_extension import BuildExtension, CUDAExtension\n"
        f"setup(name='a', ext_modules=[CUDAExtension({name!r}, ['{name}.cpp', 'k.cu'], define_macros=[('WITH_CUDA', None)],"
        " extra_compile_args={'cxx': ['-O0'], 'nvcc': ['-O3']})],"
        f" cmdclass={{'build_ext': BuildExtension.with_options(use_ninja={ninja})}})\n"
    )
    ran = subprocess.run(
        [sys.executable, *run, "setup.py", "-q", "build_ext", "--inplace"], capture_output=True, text=True,
        env={**os.environ, "TDEV_BACKEND": "cpu", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "twice_kernel (k.cu:3), which is left out" in ran.stderr
    (library,) = tmp_path.glob(f"{name}*.so")
    spec = importlib.util.spec_from_file_location(name, library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    assert module.twice(8) == 16


@pytest.mark.deep
@compiles
def test_tensors_of_the_cpu() -> None:
    text = """
        #ifdef WITH_CUDA
        torch::Tensor scale_cuda(torch::Tensor x, double by);
        #endif
        torch::Tensor scale(torch::Tensor x, double by) {
        #ifdef WITH_CUDA
            if (x.is_cuda()) return scale_cuda(x, by);
        #endif
            return x * by;
        }"""
    cuda = "__global__ void k(float* x) {}\ntorch::Tensor scale_cuda(torch::Tensor x, double by) { return x; }"
    with pytest.warns(DeviceWarning, match=r"its kernel is k \(cuda_sources\[0\]:1\)"):
        module = cpp_extensions.load_inline(
            "tdev_scaled", text, cuda, "scale", extra_cflags=["-O0", "-DWITH_CUDA"]
        )
    assert torch.equal(module.scale(torch.arange(4.0), 3.0), torch.arange(4.0) * 3)
