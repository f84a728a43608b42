"""What can be told of C++ and CUDA sources from their text: kernels, and whether C++ stands without CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.packages.cuda_sources import (
    asks_for_cuda,
    compiled,
    cuda_header,
    defined,
    kernels,
    lent,
    with_headers,
)  # fmt: skip

KERNELS = """
// __global__ void in_a_comment(int* x);
/* __global__
   void in_another(int* x) {} */
const char* text = "__global__ void in_a_string(int* x)";
__global__ void plain(float* x) { helper(x); }
template <typename T, int N>
static __global__ void __launch_bounds__(256, (2 + 1)) bounded(T* x, int (&n)[N]) {}
extern "C" __global__
__launch_bounds__(64)
void
on_lines(float* x);
__launch_bounds__(64) __global__ void before(float* x) {}
template <> __global__ void special<float>(float* x) {}
__global__ void __attribute__((noinline)) attributed(dim3 a) { if (a.x) return; }
__device__ float helper(float* x) { return *x; }
"""


def test_kernels_are_found_by_name_and_line() -> None:
    found = kernels(KERNELS, "k.cu")
    assert [(kernel.name, kernel.line) for kernel in found] == [
        ("plain", 6), ("bounded", 8), ("on_lines", 9), ("before", 13), ("special", 14), ("attributed", 15),
    ]  # fmt: skip
    assert str(found[0]) == "plain (k.cu:6)"
    assert kernels("#define K __global__", "k.cu") == [], "nothing follows"
    assert kernels("__global__ void cut(int (", "k.cu")[0].name == "cut", "a text that ends early"


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("#ifdef WITH_CUDA", "no else"),
        ("#ifndef WITH_CUDA", "yes"),
        ("#if defined(WITH_CUDA)", "no else"),
        ("#  if !defined(WITH_CUDA)", "yes"),
        ("#if !WITH_CUDA", "yes"),
        ("#if defined(FAST) && defined(USE_CUDA)", "no else"),
        ("#if defined(__CUDACC__)", "no else"),
        ("#ifdef NO_CUDA", "both"),
        ("#ifdef FAST", "both"),
        ("#if defined(FAST) || defined(WITH_CUDA)", "both"),
        ("#if !(defined(WITH_CUDA) && FAST)", "both"),
        ("#if !defined(WITH_CUDA) && FAST", "both"),
    ],
)
def test_what_asks_for_cuda_is_not_compiled(condition: str, kept: str) -> None:
    text = f"{condition}\nyes;\n#ifdef DEEP\ninner;\n#endif\n#else\nother;\n#endif\nlast;"
    lines = {"yes": [2, 4, 9], "no else": [7, 9], "both": [2, 4, 7, 9]}[kept]
    assert [at for at, line in enumerate(compiled(text).split("\n"), 1) if line] == lines


def test_a_chain_of_conditions_takes_its_last_branch() -> None:
    text = "#if defined(WITH_CUDA)\na;\n#elif defined(WITH_ROCM)\nb;\n#else\nc;\n#endif\n#ifndef USE_CUDA\nd;\n#elif X\ne;\n#endif"
    assert [line for line in compiled(text).split("\n") if line] == ["b;", "c;", "d;"]


def test_macros_of_cuda() -> None:
    for macro in ("WITH_CUDA", "MMCV_WITH_CUDA", "USE_CUDA=1", "__CUDACC__", "WITH_CUDA=None"):
        assert asks_for_cuda(macro), macro
    for macro in (
        "NO_CUDA",
        "DISABLE_CUDA=1",
        "WITH_CUDA=0",
        "NDEBUG",
        "TORCH_EXTENSION_NAME=cuda",
    ):
        assert not asks_for_cuda(macro), macro


@pytest.mark.parametrize(
    "header", ["cuda_runtime.h", "ATen/cuda/CUDAContext.h", "c10/cuda/CUDAGuard.h", "cub/cub.cuh"]
)
def test_headers_of_cuda(header: str) -> None:
    assert cuda_header(f"#include <vector>\n#include <{header}>\n") == header
    assert cuda_header(compiled(f"// #include <{header}>\n#include <torch/extension.h>")) is None
    assert cuda_header(compiled(f"#ifdef WITH_CUDA\n#include <{header}>\n#endif")) is None
    assert cuda_header('#include "my_cuda_notes.h"') is None


def test_headers_of_the_extension_are_read(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/b.h").write_text('#include "a.h"\nint b() { return 1; }')
    (tmp_path / "a.h").write_text('#include "b.h"\n#include "missing.h"\n')
    (tmp_path / "m.cpp").write_text('#include "a.h"\n#ifdef WITH_CUDA\n#include "c.h"\n#endif\n')
    (tmp_path / "c.h").write_text("#include <cuda.h>")
    read = dict(with_headers(tmp_path / "m.cpp", [tmp_path / "include"]))
    assert [path.name for path in read] == ["m.cpp", "a.h", "b.h"]
    assert "int b()" in read[tmp_path / "include/b.h"]


def test_functions_with_a_body() -> None:
    text = (
        "int declared(int x);\nint one(int x) {\n if (x) { return call(x); }\n return 0; }\n"
        "torch::Tensor two(std::function<int(int)> f)\n{ return f(1); }\nauto three() -> int { return 1; }\n"
        "struct S { int four() const noexcept { return 4; } };\n__device__ int five() { return 5; }\n"
        "__global__ void six() {}\n"
    )
    assert defined(text) == {"one": 2, "two": 5, "three": 7, "four": 8}


CU = "__global__ void k(float* x) {}\nvoid run(float* x) { k<<<1, 1>>>(x); }\nvoid other(float* x) {}"


@pytest.mark.parametrize(
    ("cpp", "name"),
    [
        ("void run(float* x);\nvoid f(float* x) { run(x); }", "run"),
        ('void run(float*);\nPYBIND11_MODULE(a, m) { m.def("run", &run); }', "run"),
        ("namespace ours { void run(float* x); }\nvoid f(float* x) { return ours::run(x); }", "run"),
        ("void run(float* x);\nvoid f(float* x) { auto g = run; g(x); }", "run"),
        ("void run(float* x);", None),
        ("void run(float* x) { *x = 1; }\nvoid f(float* x) { run(x); }", None),
        ("void f(Module m) { m.run(1); m->other(2); at::run(3); }", None),
        ('void f() { say("run(x)"); } // run(x)', None),
        ("#ifdef WITH_CUDA\nvoid f(float* x) { run(x); }\n#endif", None),
        ("void f(float* x) { return prerun(x); }", None),
    ],
)  # fmt: skip
def test_what_cpp_borrows_of_cuda(cpp: str, name: str | None) -> None:
    found = lent({"a.cpp": compiled(cpp)}, {"k.cu": CU})
    assert found == ((name, "a.cpp") if name else None)
