"""What a rule learns of the other files of the tree, whichever of them are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Survey, may_need
from tests.codemod.conftest import Ran

REAL = "tdev_core.codemod.engine"
QUESTION = "    return torch.cuda.is_available()\n"
FILES = {
    "pkg/__init__.py": "",
    "pkg/asked.py": f"import torch\n\n\ndef is_cuda_available():\n{QUESTION}\n\n"
    f"def has_gpu():\n{QUESTION}\n\ndef gpu_for_others():\n{QUESTION}\n\n"
    f"class CUDAPlatform:\n    def is_available(self):\n    {QUESTION}",
    "pkg/chooses.py": "from .asked import is_cuda_available, is_mps\n\n\ndef device():\n"
    "    if is_cuda_available():\n        return 'cuda'\n    elif is_mps():\n        return 'mps'\n"
    "    return 'cpu'\n",
    "pkg/asks.py": "from .asked import has_gpu\n\nif has_gpu():\n    print('fast')\n",
    "pkg/gives.py": "import torch\n\ntorch.cuda.synchronize()\n",
    "pkg/takes.py": "from .gives import (\n    torch,\n)\n\nprint(torch.zeros(3))\n",
    "pkg/keeps_to_itself.py": "import torch\n\ntorch.cuda.synchronize()\n",
}


@pytest.fixture
def package(place: Path) -> Path:
    for name, text in FILES.items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return place / "pkg"


def _answers(path: Path) -> list[str]:
    """Return whose answer each function of ``asked.py`` gives."""
    return [
        line.split()[1].split(".")[0]
        for line in path.read_text().splitlines()
        if "is_available()" in line
    ]


@pytest.mark.parametrize("given", ["pkg", "one file"])
@pytest.mark.parametrize("target", ["tdev", "accelerator"])
def test_functions_that_are_the_question(
    package: Path, given: str, target: str, codemod: Callable[..., Ran]
) -> None:
    """Rewriting one file gives what rewriting its tree gives."""
    path = package / "asked.py"
    before = path.read_text()
    where = "pkg" if given == "pkg" else "pkg/asked.py"
    ran = codemod("--target", target, where, engine=REAL)
    assert ran.status in (0, 1)  # with what is left for a person
    moved = "tdev" if target == "tdev" else "torch"
    assert _answers(path) == ["torch", moved, "torch", "torch"]
    if target == "accelerator":  # the other three go on naming CUDA
        assert path.read_text() == before
    for said in (
        "is_cuda_available is asked beside other accelerators",
        "gpu_for_others is asked by nothing in the tree",
        "CUDAPlatform.is_available answers for CUDA",
        "has_gpu asks for CUDA",
    ):
        assert said in ran.out + ran.err


@pytest.mark.parametrize("name", ["HAS_CUDA", "HAS_GPU"])
def test_an_answer_that_other_files_ask_for_stays(
    place: Path, name: str, codemod: Callable[..., Ran]
) -> None:
    """Generic it would send what its callers move to CUDA there, on any accelerator."""
    (place / "flags.py").write_text(f"import torch\n\n{name} = torch.cuda.is_available()\n")
    (place / "asks.py").write_text(f"from flags import {name}\n\nif {name}:\n    print(1)\n")
    ran = codemod("--target", "accelerator", ".", engine=REAL)
    assert "torch.cuda" in (place / "flags.py").read_text()
    assert "flags.py:3" in ran.out + ran.err


@pytest.mark.parametrize("given", ["pkg", "one file"])
def test_torch_stays_where_another_module_imports_it(
    package: Path, given: str, codemod: Callable[..., Ran]
) -> None:
    names = ["pkg"] if given == "pkg" else ["pkg/gives.py", "pkg/keeps_to_itself.py"]
    assert codemod(*names, engine=REAL).status == 0
    assert "import torch\n" in (package / "gives.py").read_text()
    assert "import torch\n" not in (package / "keeps_to_itself.py").read_text()


@pytest.mark.parametrize("where", ["docstring", "code"])
def test_kernels_that_a_docstring_speaks_of_are_none(
    place: Path, where: str, codemod: Callable[..., Ran]
) -> None:
    imported = "import cupy\n"
    head = f'"""Sums, as\n{imported}@triton.jit\ndo.\n"""\n' if where == "docstring" else imported
    (place / "sums.py").write_text(f"{head}\n\ndef total(x):\n    return x.sum()\n")
    (place / "asks.py").write_text(
        "import torch\n\nfrom sums import total\n\n\ndef main(x):\n    if not torch.cuda.is_available():\n"
        '        raise RuntimeError("CUDA is needed")\n    return total(x.cuda())\n'
    )
    codemod(".", engine=REAL)
    assert ("answers_cuda" in (place / "asks.py").read_text()) is (where == "docstring")


@pytest.mark.parametrize("twice", [False, True])
def test_a_function_that_promises_a_device_gives_one(
    place: Path, twice: bool, codemod: Callable[..., Ran]
) -> None:
    (place / "utils.py").write_text(
        "import torch\n\n\ndef get_device(name: str = 'auto') -> torch.device:\n    return torch.device(name)\n"
    )
    (place / "more.py").write_text("def get_device(name):\n    return name\n" if twice else "")
    (place / "asks.py").write_text(
        "import torch\n\nfrom utils import get_device\n\n\ndef make(path, name):\n"
        "    device = get_device(name)\n    return torch.zeros(3, device=device), torch.load(path, map_location=device)\n"
    )
    codemod(".", engine=REAL)
    assert ("tdev.zeros" in (place / "asks.py").read_text()) is twice


@pytest.mark.parametrize("mps", ['"mps"', 'torch.device("mps")', "None"])
@pytest.mark.parametrize("expression", [False, True])
def test_the_rest_is_left_to_a_function_that_asks_for_mps(
    place: Path, mps: str, expression: bool, codemod: Callable[..., Ran]
) -> None:
    """Of another file: on every accelerator it gives what torch has there."""
    (place / "chooses.py").write_text(
        "import torch\n\n\ndef best_device():\n    if torch.backends.mps.is_available():\n"
        f'        return {mps}\n    return "cpu"\n'
    )
    choice = "    if torch.cuda.is_available():\n        device = 'cuda:0'\n    else:\n        device = best_device()\n"
    if expression:
        choice = "    device = 'cuda:0' if torch.cuda.is_available() else best_device()\n"
    (place / "uses.py").write_text(
        f"import torch\n\nfrom chooses import best_device\n\n\ndef place(x):\n{choice}    return x.to(device)\n"
    )
    codemod(".", engine=REAL)
    assert ("tdev" in (place / "uses.py").read_text()) is (mps == "None")


@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize(
    ("patch", "stays"),
    [
        ('mock.patch("pkg.starts.torch") as torch', True),
        ('mock.patch.object(starts, "torch") as torch', True),
        ('mock.patch("pkg.others.torch") as torch', False),
        ('mock.patch("pkg.starts.torch.cuda") as cuda', False),
    ],
)
def test_what_a_mock_of_torch_answers_for_stays_torchs(
    place: Path, style: str, patch: str, stays: bool, codemod: Callable[..., Ran]
) -> None:
    """The names that it has an answer for, or asserts; a module that calls torch by tdev's alias has the mock, too."""
    files = {
        "pkg/__init__.py": "",
        "pkg/starts.py": "import torch\n\n\ndef start(gpu):\n    if torch.cuda.is_available():\n"
        "        torch.cuda.set_device(gpu)\n\n\ndef clear():\n    torch.cuda.empty_cache()\n",
        "tests/test_starts.py": "from unittest import mock\n\nfrom pkg import starts\n\n\n"
        f"def test_start():\n    with {patch}:\n        torch.cuda.is_available.return_value = True\n"
        "        starts.start(1)\n        torch.cuda.set_device.assert_called_with(1)\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    ran = codemod("--style", style, "--verbose", ".", engine=REAL)
    changed = (place / "pkg/starts.py").read_text()
    kept = stays and style == "explicit"
    assert ("    torch.cuda.set_device" in changed) is (kept or style == "alias")
    assert ran.out.count("a mock that a test of the tree") == kept
    assert "tdev" in changed


@pytest.mark.parametrize("rays", ["import ray\n", "import rays\nx = 'ray'\n"])
@pytest.mark.parametrize(
    "count",
    [
        "return Resources(cpus=3, gpus=torch.cuda.device_count())",
        "gpus = total([torch.cuda.device_count()])\n    return Resources(cpus=3, gpus=gpus)",
        "return Rows(gpus=torch.cuda.device_count())",
    ],
)
def test_a_count_that_becomes_resources_where_the_tree_works_with_ray(
    place: Path, rays: str, count: str, codemod: Callable[..., Ran]
) -> None:
    (place / "asks.py").write_text(rays)
    (place / "utils.py").write_text(
        "class Resources:\n    def __init__(self, cpus, gpus):\n        self.cpus, self.gpus = cpus, gpus\n\n\n"
        "class Rows:\n    def __init__(self, gpus):\n        self.rows = gpus\n\n\ndef total(x):\n    return sum(x)\n"
    )
    (place / "counts.py").write_text(
        f"import torch\n\nfrom utils import Resources, Rows, total\n\n\ndef count():\n    {count}\n"
    )
    codemod(".", engine=REAL)
    stays = rays == "import ray\n" and "Resources" in count
    assert ("tdev" in (place / "counts.py").read_text()) is not stays


@pytest.mark.parametrize("package", ["faster_whisper", "transformers"])
def test_what_a_command_line_takes_for_a_runtime_stays_its_word(
    place: Path, package: str, codemod: Callable[..., Ran]
) -> None:
    (place / "runs.py").write_text(f"import {package}\n")
    question = '"cuda" if torch.cuda.is_available() else "cpu"'
    (place / "main.py").write_text(
        f"import argparse\n\nimport torch\n\np = argparse.ArgumentParser()\np.add_argument('--device', default={question})\n"
    )
    ran = codemod(".", engine=REAL)
    stays = package == "faster_whisper"
    assert ("tdev" not in (place / "main.py").read_text()) is stays
    assert (package in ran.out) is stays


@pytest.mark.parametrize("kernels", [True, False])
def test_what_opens_the_import_of_kernels_stays_a_question(
    place: Path, kernels: bool, codemod: Callable[..., Ran]
) -> None:
    (place / "pkg").mkdir()
    (place / "pkg/__init__.py").write_text("")
    sources = '["block_cuda.cpp", "block.cu"]' if kernels else "[]"
    (place / "pkg/block.py").write_text(f"SOURCES = {sources}\n\n\nclass Block: ...\n")
    (place / "pkg/uses.py").write_text(
        "import torch\n\nif torch.cuda.is_available():\n    from pkg.block import Block\n"
    )
    codemod("pkg", engine=REAL)
    assert ("tdev" not in (place / "pkg/uses.py").read_text()) is kernels


@pytest.mark.parametrize("package", ["nvidia.dali", "numpy"])
def test_what_opens_the_import_of_a_module_for_cuda_alone_stays_a_question(
    place: Path, package: str, codemod: Callable[..., Ran]
) -> None:
    """The arm imports a module of the tree, which says what it needs at its own margin."""
    (place / "pkg").mkdir()
    (place / "pkg/__init__.py").write_text("")
    (place / "pkg/fast.py").write_text(f"import {package}\n\n\nclass Reader: ...\n")
    using = place / "pkg/readers.py"
    using.write_text(
        "import torch\n\n\ndef kind():\n    if torch.cuda.is_available():\n        try:\n"
        "            import pkg.fast  # whether it is there\n\n            return 'fast'\n"
        "        except ImportError:\n            pass\n    return 'plain'\n"
    )
    codemod("pkg", engine=REAL)
    assert ("tdev" not in using.read_text()) is (package != "numpy")


def test_a_checkout_is_called_as_its_package(place: Path, codemod: Callable[..., Ran]) -> None:
    """A module of kernels is known by the name that it is imported by, wherever its package lies."""
    package = place / "pkg" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "ext.py").write_text('load(name="pkg_ext", sources=["cuda/rows.cu"])\n')
    using = package / "linear.py"
    using.write_text("import torch\nfrom pkg.ext import pkg_ext\n\ntorch.cuda.synchronize()\n")
    before = using.read_text()
    codemod("pkg", engine=REAL)
    assert using.read_text() == before


@pytest.mark.parametrize("target", ["tdev", "accelerator"])
def test_what_imports_a_module_for_cuda_alone_is_left(
    place: Path, target: str, codemod: Callable[..., Ran]
) -> None:
    """It cannot be imported either, however many modules lie between; what is caught can be done without."""
    move = "\n\ndef f(x):\n    return x.cuda()\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/arrays.py": "import cupy\nimport torch\n",
        "pkg/ops.py": f"import torch\n\nfrom . import arrays{move}",
        "pkg/sub/__init__.py": "from ..ops import (  # all of it\n    f,\n)\n",
        "pkg/sub/deep.py": f"import torch{move}",
        "pkg/caught.py": f"import torch\n\ntry:\n    from .arrays import x\nexcept ImportError:\n    x = 1{move}",
        "pkg/ext.py": 'load(name="pkg_ext", sources=["cuda/rows.cu"])\n',
        "pkg/rows.py": "from pkg.ext import pkg_ext as ext_c\n",
        "pkg/by_rows.py": f"import torch\nimport pkg.rows{move}",
        "main.py": f"import pkg.sub.deep as deep\nimport torch{move}",
        # Of a package with a stand-in, what that has and what it has not.
        "own/__init__.py": "from .cached import decode\n",
        "own/cached.py": "import torch\nfrom flash_attn import flash_attn_with_kvcache as decode\n",
        "own/near.py": f"import torch{move}",
        "has/__init__.py": "from .plain import attend\n",
        "has/plain.py": "from flash_attn import flash_attn_func as attend\n",
        "has/near.py": f"import torch{move}",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    ran = codemod("--target", target, "--verbose", ".", engine=REAL)
    changed = {name for name, text in files.items() if (place / name).read_text() != text}
    assert changed - {"has/plain.py"} == {"pkg/caught.py", "has/near.py"}
    for said in (
        "pkg.arrays, which it imports, needs cupy",
        "pkg.sub, which it imports, needs cupy",
        "pkg.rows, which it imports, needs pkg_ext",
        "own, which it imports, needs flash_attn",
    ):
        assert said in ran.out
    assert not may_need(
        b'"""\nimport cupy\n"""\ntry:\n    import cupy\nexcept ImportError:\n    cupy = 0\n'
    )
    codemod("--target", target, "--all", "main.py", engine=REAL)
    assert (place / "main.py").read_text() != files["main.py"]


MODEL = """import torch


class Model:
    def __init__(self, device):
        self.device = torch.device(device)
        on_cuda = self.device.type == "cuda"
        self.graphs = None
        if on_cuda:
            from .cuda_graphs import Cache

            self.graphs = Cache(self.device)
"""
CACHE = """import torch

from .pool import pool_of


class Cache:
    def __init__(self, device):
        self.graph = torch.cuda.CUDAGraph()
        self.pool = pool_of(device)
"""
GRAPHS = {
    "pkg/__init__.py": "from .model import Model\n",
    "pkg/model.py": MODEL,
    "pkg/cuda_graphs/__init__.py": "from .cache import Cache\n",
    "pkg/cuda_graphs/cache.py": CACHE,
    "pkg/cuda_graphs/pool.py": "import torch\n\n\ndef pool_of(device):\n    return torch.cuda.MemPool()\n",
}
TYPES = (
    "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .cuda_graphs import Cache\n"
)


def _migrated(files: dict[str, str], place: Path, codemod: Callable[..., Ran]) -> Ran:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return codemod("--verbose", ".", engine=REAL)


@pytest.mark.parametrize(
    ("more", "reached"),
    [
        ({}, False),
        ({"pkg/types.py": TYPES}, False),
        ({"tests/test_pool.py": "from pkg.cuda_graphs.pool import pool_of\n"}, False),
        ({"pkg/model.py": MODEL.replace("if on_cuda", "if self.device")}, True),
        ({"pkg/model.py": MODEL.replace("self.device.type ==", "device ==")}, True),
        ({"pkg/other.py": "from .cuda_graphs.pool import pool_of\n"}, True),
        ({"main.py": "from pkg.cuda_graphs.pool import pool_of\n"}, True),
        ({"pkg/other.py": "def f():\n    from .cuda_graphs import pool\n"}, True),
        ({"pkg/other.py": "try: from .cuda_graphs import pool\nexcept ImportError: pool = None\n"}, True),
        ({"pkg/__init__.py": "import importlib\nimportlib.import_module('.cuda_graphs.pool')\n"}, True),
        ({"pkg/__init__.py": "import pkgutil\nlist(pkgutil.iter_modules())\n"}, True),
    ],
)  # fmt: skip
def test_modules_that_only_a_question_for_cuda_leads_to(
    more: dict[str, str], reached: bool, place: Path, codemod: Callable[..., Ran]
) -> None:
    files = {**GRAPHS, **more}
    ran = _migrated(files, place, codemod)
    pool = "pkg/cuda_graphs/pool.py"
    assert ((place / pool).read_text() != files[pool]) is reached
    said = f"{pool}:1:1 cuda-kernel pkg.cuda_graphs.cache imports this file where only CUDA comes"
    assert (said in ran.out) is not reached
    # The question goes with what it opens.
    asked = "is_accelerator" not in (place / "pkg/model.py").read_text()
    assert asked or reached


@pytest.mark.parametrize(
    ("key", "more", "reached"),
    [
        ("CUDA", {}, False),
        ("CPU", {}, True),
        ("CUDA", {"pkg/other.py": "from .kernels.matmul import best\n"}, True),
    ],
)
def test_modules_that_only_operators_for_cuda_use(
    key: str, more: dict[str, str], reached: bool, place: Path, codemod: Callable[..., Ran]
) -> None:
    matmul = """import torch
import triton

from .tuner import best

lib = torch.library.Library("pkg", "FRAGMENT")


@triton.jit
def kernel(a):
    pass


@torch.library.impl(lib, "matmul", "CUDA")
def matmul(a):
    return kernel[(best(a),)](a)
"""
    files = {
        "pkg/__init__.py": "",
        "pkg/kernels/__init__.py": "",
        "pkg/kernels/matmul.py": matmul.replace('"CUDA"', f'"{key}"'),
        "pkg/kernels/tuner.py": "import torch\nimport triton\n\n\ndef best(a):\n    torch.cuda.synchronize()\n    return 1\n",
        **more,
    }
    _migrated(files, place, codemod)
    changed = (place / "pkg/kernels/tuner.py").read_text() != files["pkg/kernels/tuner.py"]
    assert changed is reached


def test_what_is_built_on_a_worker_of_vllm(place: Path, codemod: Callable[..., Ran]) -> None:
    """It runs inside of that, on the platform that vLLM has chosen; nothing else leads to what only the worker imports."""
    move = "\n\ndef f(x):\n    torch.cuda.empty_cache()\n    return x.cuda()\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/worker.py": f"import torch\nfrom vllm.worker.cache_engine import CacheEngine\n\nfrom .runner import f as g{move}",
        "pkg/runner.py": f"import torch\nfrom vllm.model_executor import InputMetadata\n{move}",
        "pkg/engine.py": f"import torch\nfrom vllm import LLM\n{move}\n\ndef start():\n    from .worker import f\n\n    return f\n",
    }
    ran = _migrated(files, place, codemod)
    changed = {name for name, text in files.items() if (place / name).read_text() != text}
    assert changed == {"pkg/engine.py"}
    assert "vllm.worker.cache_engine, which this file is built on" in ran.out


def test_a_test_that_ends_without_such_a_module_is_left(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """Of a package that the table has not, the error that the module raises says that it needs CUDA."""
    tried = 'import torch\n\ntry:\n    import deform_ops\nexcept ImportError as e:\n    raise ImportError("deform_ops needs CUDA") from e\n'
    layer = (
        "import torch\nfrom pkg.ops import attend\n\n\ndef layer(x):\n    return attend(x.cuda())\n"
    )
    test = "def test_layer():\n    try:\n        from pkg.layer import layer\n    except ImportError:\n        {}\n    layer(torch.ones(3).to('cuda'))\n"
    files = {
        "pkg/__init__.py": "",
        "pkg/ops.py": f"{tried}\n\ndef attend(x):\n    return deform_ops.attend(x.cuda())\n",
        "pkg/layer.py": layer,
        "test_skips.py": f"import pytest\nimport torch\n\n\n{test.format('pytest.skip()')}",
        "test_goes_on.py": f"import torch\n\n\n{test.format('layer = print')}",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    ran = codemod("--verbose", "--tests", ".", engine=REAL)
    changed = {name for name, text in files.items() if (place / name).read_text() != text}
    assert changed == {"test_goes_on.py"}
    assert "pkg.ops, which it imports, needs deform_ops" in ran.out
    assert "ends where pkg.layer cannot be imported" in ran.out


@pytest.mark.parametrize(
    ("forward", "compiled", "moved"),
    [
        ("return x.to(x.device)", "Norm(3)", False),
        ("return x.to(x.device)", "model", False),
        ("return x.to('cuda')", "Norm(3)", True),
        ("return self.inner(Other(x))", "Norm(3)", True),
        ("return self.inner(x)", "Other(3)", True),
        ("return self.inner(x)", "Norm(3)", False),
        ("return x.to('cuda')", "model", True),
        ("return x", "Elsewhere(3)", True),
        ("return x", "scale", False),
        ("return x.to('cuda')", "scale", False),
        ("return x.to('cuda')", "move", True),
    ],
)
def test_what_is_compiled_of_a_class_that_names_no_device(
    place: Path, codemod: Callable[..., Ran], forward: str, compiled: str, moved: bool
) -> None:
    """In another file, nor does a class that it speaks of: torch's own compiler does as well."""
    other = "x.cuda()" if "inner" in forward or compiled == "Elsewhere(3)" else "x"
    files = {
        "pkg/__init__.py": "",
        "pkg/norms.py": "import torch\n\n\nclass Norm(torch.nn.Module):\n    def __init__(self, n):\n"
        f"        self.w = torch.ones(n)\n\n    def forward(self, x):\n        {forward}\n\n\n"
        f"class Other(torch.nn.Module):\n    def forward(self, x):\n        return {other}\n\n\n"
        f"def scale(x):\n    return x * 3\n\n\ndef move(x):\n    {forward}\n",
        "pkg/uses.py": "import torch\nfrom .norms import Norm, Other, move, scale\n\n\ndef f(model):\n"
        f"    return torch.jit.script({compiled})\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    assert ("tdev.jit.script" in (place / "pkg/uses.py").read_text()) is moved


_STATISTICS = """import torch


def statistics(device: torch.device):
    if device.type != "cuda":
        raise ValueError(f"statistics are of CUDA devices, not {device}")
    return torch.cuda.max_memory_allocated(device)
"""
_SCRIPT = """import torch
from pkg.statistics import statistics

device = torch.device("cuda")
if device.type == "cuda":
    print(statistics(device))
"""


@pytest.mark.parametrize("knows", [True, False])
def test_a_script_and_the_package_that_it_imports_agree(
    place: Path, codemod: Callable[..., Ran], knows: bool
) -> None:
    """Which of the two asks for CUDA alone, in a package that knows MPS: what lets through, and what is let through."""
    asks = "torch.backends.mps.is_available()" if knows else "None"
    files = {
        "pkg/__init__.py": "",
        "pkg/precision.py": f"import torch\n\n\ndef precise():\n    return {asks}\n",
        "pkg/statistics.py": _STATISTICS,
        "recipes/train.py": _SCRIPT,
        "tests/test_train.py": _SCRIPT,
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    kept = [
        name
        for name in files
        if 'device.type == "cuda"' in (place / name).read_text()
        or 'device.type != "cuda"' in (place / name).read_text()
    ]
    packages = ["pkg/statistics.py", "recipes/train.py"] if knows else []
    assert kept == [*packages, "tests/test_train.py"]  # which asks for CUDA's own, whatever runs it


@pytest.mark.parametrize("pointer", ["ctypes.c_void_p(x.data_ptr())", "x.data"])
def test_a_demand_before_a_library_in_c_stays(
    place: Path, codemod: Callable[..., Ran], pointer: str
) -> None:
    """The library is loaded by another module, and told where tensors lie."""
    files = {
        "pkg/__init__.py": "",
        "pkg/lib.py": f'import ctypes\n\nlib = ctypes.CDLL("a.so")\n\n\ndef address(x):\n    return {pointer}\n',
        "pkg/ops.py": "import torch\n\nfrom .lib import address, lib\n\n\ndef scatter(x):\n"
        '    assert x.device.type == "cuda"\n    lib.scatter(address(x), torch.ones(1).item())\n',
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    assert ("tdev" in (place / "pkg/ops.py").read_text()) is (pointer == "x.data")


_HAS_TORCH = {
    "plain": "import torch\n",
    "among others": "import os, sys\nimport torch  # for all\nimport numpy as np\n",
    "one further": "from .first import *\n",
}
_HAS_ANOTHER = {
    "optional": "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
    "wrapped": "import torch as real\n\ntorch = Wrapper(real)\n",
    "replaced": "import torch\n\ntorch = Wrapper(torch)\n",
    "a class": "class torch:\n    zeros = list\n",
}


@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize("taken", ["from .base import *", "from .base import np, torch"])
@pytest.mark.parametrize("base", [*_HAS_TORCH, *_HAS_ANOTHER])
def test_torch_is_taken_from_a_module_that_imports_it(
    place: Path, codemod: Callable[..., Ran], base: str, taken: str, style: str
) -> None:
    """Whether or not the file says CUDA; what else a module calls so stays, and is told."""
    files = {
        "pkg/__init__.py": "",
        "pkg/first.py": "import torch\n",
        "pkg/base.py": (_HAS_TORCH | _HAS_ANOTHER)[base],
        "pkg/uses.py": f"{taken}\n\n\ndef f(args):\n    return torch.ones(3, device=args.device)\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    ran = codemod("--force", "--style", style, ".", engine=REAL)
    text = (place / "pkg/uses.py").read_text()
    if base in _HAS_TORCH:
        assert text.startswith("import tdev\n") and "tdev.ones(" in text and taken in text
    else:
        assert text == files["pkg/uses.py"]
        assert "star-import" in ran.out


@pytest.mark.parametrize("package", ["array_api_compat", "."])
def test_torch_of_another_package_stays(
    place: Path, codemod: Callable[..., Ran], package: str
) -> None:
    """One of that name, or a module beside the file."""
    text = f"from {package} import torch\n\n\ndef f():\n    return torch.zeros(3, device='cuda')\n"
    (place / "uses.py").write_text(text)
    codemod("--force", ".", engine=REAL)
    assert (place / "uses.py").read_text() == text


@pytest.mark.parametrize("own", [True, False])
def test_a_module_of_the_tree_called_torch_is_not_torch(
    place: Path, codemod: Callable[..., Ran], own: bool
) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/backends/__init__.py": "import torch\n",
        f"pkg/backends/{'torch' if own else 'numpy'}.py": "",
        "pkg/uses.py": "from .backends import torch\n\n\ndef f():\n    return torch.cuda.synchronize()\n",
        "pkg/takes.py": "from .backends import *\n\n\ndef f():\n    return torch.cuda.synchronize()\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    for name in ("pkg/uses.py", "pkg/takes.py"):
        assert ("tdev.cuda" in (place / name).read_text()) is not own


@pytest.mark.parametrize("base", ["pkg.torch.utils", ".utils", "..torch.utils", "pkg.plain.utils"])
def test_torch_is_taken_from_one_of_several_modules_of_a_name(
    place: Path, codemod: Callable[..., Ran], base: str
) -> None:
    """A package for several frameworks has modules of one name, and one of them gives torch on from another."""
    files = {
        "pkg/__init__.py": "",
        "pkg/torch/__init__.py": "",
        "pkg/torch/utils/__init__.py": "from .layers import (\n    torch, nn,\n)\n",
        "pkg/torch/utils/layers.py": "import torch\nimport torch.nn as nn\n",
        "pkg/plain/__init__.py": "",
        "pkg/plain/utils/__init__.py": "from .layers import nothing\n",
        "pkg/plain/utils/layers.py": "nothing = None\n",
        "pkg/torch/uses.py": f"from {base} import torch\n\n\ndef f():\n    return torch.zeros(3, device='cuda')\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_text(text)
    ran = codemod("--force", ".", engine=REAL)
    text = (place / "pkg/torch/uses.py").read_text()
    assert ("tdev.zeros(" in text) is (base != "pkg.plain.utils")
    assert ("star-import" in ran.out) is (base == "pkg.plain.utils")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("source", ["", "src/"])
def test_a_package_without_an_init_file(
    place: Path, codemod: Callable[..., Ran], source: str, named: bool
) -> None:
    """What one of its modules knows is known of all, as in a package that has one: by what its files import they are one."""
    home = "pkg" if named else "builders"
    files = {
        "pyproject.toml": "[project]\nname = 'pkg'\n",
        f"{source}pkg/settings.py": "import torch\n\n\ndef device():\n"
        "    if torch.backends.mps.is_available():\n        return 'mps'\n    return 'cpu'\n",
        f"{source}pkg/builders/__init__.py": "",
        f"{source}pkg/builders/lines.py": f"import torch\nfrom {home}.settings import device\n\n\n"
        "def batch(settings):\n    if settings.device == 'cuda':\n        return 14\n    return 4\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    text = (place / f"{source}pkg/builders/lines.py").read_text()
    assert ("is_accelerator" in text) is not named


@pytest.mark.parametrize("decorator", ["@torch.jit.script", "@pkg.jit.script_method", "@plain"])
def test_what_a_script_of_another_file_calls_is_compiled_with_it(
    place: Path, codemod: Callable[..., Ran], decorator: str
) -> None:
    """By whatever name the program calls the compiler."""
    files = {
        "pkg/__init__.py": "",
        "pkg/ops.py": "import torch\n\n\ndef smallest(x: torch.Tensor, k: int) -> torch.Tensor:\n"
        "    if x.is_cuda:\n        x = x.float()\n    return x.kthvalue(k).values\n",
        "pkg/stats.py": f"import torch\n\nimport pkg.jit\nfrom pkg.ops import smallest\n\n\n{decorator}\n"
        "def lowest(x: torch.Tensor) -> torch.Tensor:\n    return smallest(x, 1)\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    ran = codemod("--force", ".", engine=REAL)
    left = (place / "pkg/ops.py").read_text() == files["pkg/ops.py"]
    assert left is ("script" in decorator)
    assert ("torchscript" in ran.out) is left


def test_what_a_package_beside_the_tree_takes_stays_cudas(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    """A number or a switch of an unknown package's, but no device, and nothing of the tree's own."""
    folder = place / "reader"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "net.py").write_text(
        "import torch\n\n\ndef build(gpu):\n    return torch.zeros(2, device='cuda' if gpu else 'cpu')\n"
    )
    path = folder / "read.py"
    path.write_text(
        "import somereader\nimport torch\nfrom reader.net import build\n\n\n"
        "def switch():\n    return somereader.Reader(gpu=torch.cuda.is_available())\n\n\n"
        "def count():\n    options = {'cards': torch.cuda.device_count()}\n    return somereader.Pool(**options)\n\n\n"
        "def placed():\n    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "    return somereader.Reader(device=device)\n\n\n"
        "def named():\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    return somereader.Reader(device=device)\n\n\n"
        "def own():\n    return build(torch.cuda.is_available())\n\n\n"
        "def shared(x):\n    gpu = torch.cuda.is_available()\n"
        "    return somereader.Reader(gpu=gpu), x.cuda() if gpu else x\n"
    )
    ran = codemod("reader", engine=REAL)
    answers = [line for line in path.read_text().splitlines() if "cuda." in line]
    assert [" tdev.cuda" in f" {a}".replace("=", " ").replace("(", " ") for a in answers] == [
        *(False, False),
        *(True, True, True, True),
    ]
    assert "somereader.Reader(gpu=…), of which nothing is known" in ran.out + ran.err


@pytest.mark.parametrize("asks", ["self.is_cuda()", "self.encoder.is_cuda()"])
def test_a_method_that_its_own_class_asks_goes_with_its_device(
    place: Path, asks: str, codemod: Callable[..., Ran]
) -> None:
    """It guards the moves to a device that is the one in use; what others ask of it is an answer for them."""
    folder = place / "sentences"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    path = folder / "encoder.py"
    path.write_text(
        "import torch\n\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n\n\n"
        "class Encoder(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lstm = torch.nn.LSTM(3, 4)\n        self.to(DEVICE)\n\n"
        "    def is_cuda(self):\n        return self.lstm.bias_hh_l0.data.is_cuda\n\n"
        f"    def encode(self, batch):\n        if {asks}:\n            batch = batch.to(DEVICE)\n"
        "        return self.lstm(batch)\n"
    )
    codemod("sentences", engine=REAL)
    own = asks.startswith("self.is_cuda")
    assert ("return tdev.is_accelerator(" in path.read_text()) == own


@pytest.mark.parametrize("given", [".", "scripts/train.py"])
def test_what_lies_in_the_project_is_no_other_package(
    place: Path, given: str, codemod: Callable[..., Ran]
) -> None:
    """A script that is given alone, as pre-commit does, imports what its whole project would show."""
    for name in ("scripts", "src/nets"):
        (place / name).mkdir(parents=True)
    (place / "pyproject.toml").write_text("[project]\nname = 'nets'\n")
    (place / "src/nets/__init__.py").write_text("def build(gpu):\n    return gpu\n")
    (place / "scripts/helpers.py").write_text("def read(gpu):\n    return gpu\n")
    path = place / "scripts/train.py"
    path.write_text(
        "import torch\nfrom helpers import read\nfrom nets import build\nfrom somereader import Reader\n\n\n"
        "def main():\n    read(torch.cuda.is_available())\n    build(gpu=torch.cuda.is_available())\n"
        "    Reader(gpu=torch.cuda.is_available())\n"
    )
    codemod(given, engine=REAL)
    answers = [
        line.rpartition(".cuda")[0] for line in path.read_text().splitlines() if "_avail" in line
    ]
    assert [each.endswith("tdev") for each in answers] == [True, True, False]


def test_half_a_character_in_a_notebook_ends_no_survey() -> None:
    seen = Survey(staying=False)
    seen.see_cells("name = '\ud800'\ndevice = 'cuda'\n")
    assert seen.tree().names_cuda is not None


@pytest.mark.parametrize("called", ["pykeops", "images"])
def test_the_project_of_a_package_that_knows_no_mps(
    place: Path, codemod: Callable[..., Ran], called: str
) -> None:
    """KeOps itself asks for KeOps, and what another project calls by its name is something else."""
    asks = "import torch\nfrom pykeops.torch import LazyTensor\n\nuse_cuda = torch.cuda.is_available()\n"
    (place / "setup.py").write_text(f'setup(\n    name="{called}",\n)\n')
    (place / "pykeops").mkdir()
    for name, text in {"__init__.py": "", "sums.py": asks}.items():
        (place / "pykeops" / name).write_text(text)
    codemod("--force", ".", engine=REAL)
    assert ((place / "pykeops" / "sums.py").read_text() == asks) is (called == "pykeops")
