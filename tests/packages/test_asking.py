"""Which imports a stand-in answers: of a rewritten program, for what is absent, that it cannot do without."""

from __future__ import annotations

import ast
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tdev_core.backend import Backend
from tdev_core.ecosystem.package_table import stand_ins
from tdev_core.errors import DeviceWarning, UnsupportedError
from tdev_core.packages import asking
from tdev_core.packages.lacking import AbsentPackage, BrokenPackage, LackingImport
from tdev_core.run.standing import have_it_ask, may_import
from tests import forkserver

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("flash_attn") is not None, reason="flash_attn itself is installed"
    ),
    pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning"),
]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdev_core.backend.current", lambda: Backend.CPU)


def run(source: str, **names: Any) -> dict[str, Any]:
    """The names of a program after its imports have asked."""
    assert may_import(source.encode())
    tree = ast.parse(source)
    assert have_it_ask(tree)
    exec(compile(tree, "<program>", "exec"), names)
    return names


def test_names_are_bound_as_the_import_binds_them() -> None:
    found = run(
        '"""A program."""\nfrom __future__ import annotations\nimport os, flash_attn as fa\n'
        "import flash_attn.layers.rotary\nfrom flash_attn import flash_attn_func as f, bert_padding\n"
        "from flash_attn.bert_padding import (\n    pad_input,\n    unpad_input as unpad,\n)\n"
        "def later():\n    from flash_attn.flash_attn_interface import flash_attn_func\n    return flash_attn_func\n"
        "class Holder:\n    from flash_attn import flash_attn_varlen_func as held\n"
    )
    flash = found["flash_attn"]
    assert found["fa"] is flash and flash.__name__ == "tdev_core.packages.flash_attn"
    assert found["f"] is flash.flash_attn_func is found["later"]()
    assert found["pad_input"] is found["bert_padding"].pad_input
    assert flash.layers.rotary.apply_rotary_emb and found["Holder"].held and found["os"].sep
    assert found["__doc__"] == "A program."
    assert "flash_attn" in asking.standing()


def test_the_package_stays_absent_for_everybody_else() -> None:
    run("import flash_attn")
    assert "flash_attn" not in sys.modules and importlib.util.find_spec("flash_attn") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flash_attn")


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None",
        "try:\n    if 1:\n        from flash_attn import a\nexcept (AttributeError, ModuleNotFoundError):\n    pass",
        "try:\n    import flash_attn\nexcept:\n    pass",
        "with contextlib.suppress(ImportError):\n    import flash_attn",
        "try:\n    from flash_attn import *\nexcept ImportError:\n    pass",
        "from .flash_attn import flash_attn_func",
        "from . import flash_attn",
        "import flash_attn_3",
        "text = 'import flash_attn'",
    ],
)
def test_what_the_program_can_do_without_stays(source: str) -> None:
    tree = ast.parse(source)
    before = ast.dump(tree)
    assert not have_it_ask(tree) and ast.dump(tree) == before


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import flash_attn\nexcept ImportError:\n    raise RuntimeError('install it')",
        "try:\n    import flash_attn\nexcept ImportError:\n    print('install it')\n    sys.exit(1)",
        "try:\n    import flash_attn\nexcept KeyError:\n    pass",
        "try:\n    import flash_attn\nfinally:\n    pass",
        "try:\n    pass\nexcept ImportError:\n    import flash_attn",
        "try:\n    def f():\n        import flash_attn\nexcept ImportError:\n    pass",
        "with open('x') as f:\n    import flash_attn",
        "match x:\n    case 1:\n        import flash_attn",
        "from flash_attn import *",
        "try:\n    from flash_attn import *\nexcept KeyError:\n    pass",
    ],
)
def test_what_it_cannot_do_without_asks(source: str) -> None:
    assert have_it_ask(ast.parse(source))


def test_lines_stay() -> None:
    tree = ast.parse("x = 1\n\nimport sys, flash_attn\ny = 2\n")
    have_it_ask(tree)
    assert [s.lineno for s in tree.body] == [1, 1, 3, 3, 4]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("from flash_attn import flash_attn_with_kvcache", "flash_attn.flash_attn_with_kvcache"),
        ("import flash_attn.models.gpt", "flash_attn.models.gpt"),
        ("from flash_attn.ops.fused_dense import FusedMLP", "flash_attn.ops.fused_dense.FusedMLP"),
        ("from flash_attn.layers import patch_embed", "flash_attn.layers.patch_embed"),
    ],
)
def test_what_is_lacking_is_an_import_error_that_names_it(source: str, named: str) -> None:
    with pytest.raises(
        LackingImport, match=f"{named} is not in the stand-in.*pip install flash-attn"
    ) as told:
        run(source)
    assert isinstance(told.value, UnsupportedError) and isinstance(told.value, ImportError)


def test_switched_off_and_on_cuda_python_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for source in ("import flash_attn", "from flash_attn import flash_attn_func"):
        with monkeypatch.context() as patch:
            patch.setenv("TDEV_STANDINS", "0")
            with pytest.raises(ModuleNotFoundError, match="No module named 'flash_attn'"):
                run(source)
        with monkeypatch.context() as patch:
            patch.setattr("tdev_core.backend.current", lambda: Backend.CUDA)
            with pytest.raises(ModuleNotFoundError, match="No module named 'flash_attn'"):
                run(source)


def test_what_is_there_is_never_shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, as a module that somebody made, or in part, which the error says."""
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "flash_attn", types.ModuleType("flash_attn"))
        assert not asking.is_standing("flash_attn.layers")
    (tmp_path / "flash_attn").mkdir()
    with pytest.raises(ImportError, match="'flash_attn_func' from 'flash_attn' .*is it whole"):
        run("from flash_attn import flash_attn_func")
    sys.modules.pop("flash_attn")
    (tmp_path / "flash_attn" / "__init__.py").write_text("flash_attn_func = 'the real one'\n")
    (tmp_path / "flash_attn" / "more.py").write_text("import absent_of_flash_attn\n")
    importlib.invalidate_caches()
    try:
        assert run("from flash_attn import flash_attn_func as f")["f"] == "the real one"
        assert run("import flash_attn")["flash_attn"] is sys.modules["flash_attn"]
        with pytest.raises(ModuleNotFoundError, match="absent_of_flash_attn"):
            run("from flash_attn import more")
        with pytest.raises(
            BrokenPackage,
            match="flash_attn .*cannot be imported here: No module named 'absent_of_f",
        ) as told:
            run("from flash_attn.more import a")
        assert told.value.name == "absent_of_flash_attn"
        (tmp_path / "flash_attn" / "compiled.py").write_text(
            "raise ImportError('libcudart.so.12: cannot open shared object file')\n"
        )
        with pytest.raises(BrokenPackage, match="libcudart.*uninstall flash-attn to have tdev's"):
            run("import flash_attn.compiled as c")
        with pytest.raises(ImportError, match="cannot import name 'less' from 'flash_attn'"):
            run("from flash_attn import less")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "flash_attn"]:
            del sys.modules[name]


def test_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdev_core.errors._warned", set())
    with pytest.warns(DeviceWarning, match="flash_attn is not installed: tdev's stand-in") as told:
        run("import flash_attn\nfrom flash_attn import flash_attn_func")
    assert len(told) == 1 and told[0].filename == "<program>"


def test_every_stand_in_of_the_table_has_its_module() -> None:
    for name, package in stand_ins().items():
        module = importlib.import_module(f"tdev_core.packages.{name}")
        assert module.__version__ == f"{package.like}+tdev.standin"
        with pytest.raises(AttributeError, match=f"{name}.nothing is not in the stand-in"):
            _ = module.nothing


def test_what_nobody_answers_for_says_what_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absent package of the table, and one that an installed package needs; others fail as Python has it."""
    for source in ("import deep_gemm", "import deep_gemm.jit as jit", "from deep_gemm import a"):
        with pytest.raises(ModuleNotFoundError) as told:
            run(source)
        assert isinstance(told.value, AbsentPackage) and told.value.name == "deep_gemm"
        assert str(told.value) == (
            "No module named 'deep_gemm'. deep_gemm (matrix products in fp8) exists for CUDA only: use torch.matmul in bfloat16, "
            "or, on such a machine, pip install deep_gemm from https://github.com/deepseek-ai/DeepGEMM [TDEV110]"
        )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "natten").mkdir()
    (tmp_path / "natten" / "__init__.py").write_text("import sgl_kernel\n")
    importlib.invalidate_caches()
    with pytest.raises(AbsentPackage, match="sgl_kernel .*pip install sglang-kernel"):
        run("import natten")
    (tmp_path / "natten" / "__init__.py").write_text("import of_nobody\n")
    importlib.invalidate_caches()
    with pytest.raises(BrokenPackage, match="natten .*No module named 'of_nobody'.*uninstall nat"):
        run("import natten")
    # The package's own code tries one of its parts, which tells that it is broken to nobody.
    (tmp_path / "natten" / "__init__.py").write_text("")
    (tmp_path / "natten" / "fast.py").write_text("import of_nobody\n")
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotFoundError) as own:
        run("import natten.fast", __name__="natten.kernels")
    assert str(own.value) == "No module named 'of_nobody'"
    (tmp_path / "natten" / "__init__.py").write_text("a = 1\n")
    importlib.invalidate_caches()
    for source in ("import natten.of_nobody", "from natten.of_nobody import a"):
        with pytest.raises(ModuleNotFoundError, match="natten.of_nobody") as plain:
            run(source)
        assert not isinstance(plain.value, UnsupportedError)
        sys.modules.pop("natten", None)


PROGRAM = """\
import torch
from flash_attn import flash_attn_func
import pynvml

pynvml.nvmlInit()
q = torch.randn(1, 4, 2, 8, device="cuda", dtype=torch.float16)
out = flash_attn_func(q, q, q, causal=True)
meant = torch.nn.functional.scaled_dot_product_attention(*[q.cpu().double().transpose(1, 2)] * 3, is_causal=True)
assert q.is_cuda and out.is_cuda, "flash_attn needs CUDA tensors"
print(out.device == q.device, out.dtype, float((out.cpu().double().transpose(1, 2) - meant).abs().max()) < 2e-3)
print(pynvml.nvmlDeviceGetCount(), pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(1)).total)
"""


def test_a_program_for_cuda_runs(tmp_path: Path) -> None:
    """And the report says who answered."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    settings = {
        "TDEV_BACKEND": "sim",
        "TDEV_SIM_DEVICES": "2",
        "TDEV_SIM_MEMORY": "1GiB",
        "TDEV_CACHE_DIR": str(tmp_path / "cache"),
    }
    for _ in range(2):  # the second time from the cache
        done = forkserver.python(
            "-m",
            "tdev",
            "run",
            str(script),
            env=forkserver.environment(**settings, TDEV_REPORT="1"),
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"True torch.float16 True\n2 {1 << 30}\n"
        assert "stood in for packages: flash_attn, pynvml" in done.stderr
        # Once as a warning, and once where the report lists what was warned of.
        assert done.stderr.count("DeviceWarning: flash_attn is not installed") == 2
        assert "program.py:2: DeviceWarning: flash_attn is not installed" in done.stderr


MIGRATED = """\
import tdev as torch
import tdev.standins.flash_attn.layers.rotary as rotary
from tdev.standins import flash_attn, pynvml
from tdev.standins.flash_attn import flash_attn_func
from tdev.standins.xformers.ops import memory_efficient_attention

q = torch.ones(1, 4, 2, 8, device="cuda")
print(flash_attn_func(q, q, q).device.type, memory_efficient_attention(q, q, q).shape, flash_attn.flash_attn_func is flash_attn_func)
print(flash_attn.__version__, bool(rotary.apply_rotary_emb), pynvml.nvmlDeviceGetCount())
import importlib.util
print(importlib.util.find_spec("flash_attn") is None)
try:
    from tdev.standins.flash_attn import flash_attn_with_kvcache
except ImportError as error:
    print(error)
try:
    import tdev.standins.nothing
except ModuleNotFoundError as error:
    print(error)
"""


def test_migrated_source_names_the_stand_ins() -> None:
    env = forkserver.environment(TDEV_BACKEND="sim", TDEV_SIM_DEVICES="1")
    done = forkserver.python("-c", MIGRATED, env=env)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[:3] == ["sim torch.Size([1, 4, 2, 8]) True", "2.8.3+tdev.standin True 1", "True"]
    assert (
        "flash_attn_with_kvcache" in said[3]
        and said[4] == "No module named 'tdev.standins.nothing'"
    )


def test_migrated_source_gets_an_installed_package(tmp_path: Path) -> None:
    (tmp_path / "flash_attn").mkdir()
    (tmp_path / "flash_attn" / "__init__.py").write_text("flash_attn_func = 'the real one'\n")
    source = (
        "import tdev\nfrom tdev.standins.flash_attn import flash_attn_func\nprint(flash_attn_func)"
    )
    script = tmp_path / "program.py"
    script.write_text(source)
    done = forkserver.python(str(script), env=forkserver.environment(TDEV_BACKEND="cpu"))
    assert (done.returncode, done.stdout) == (0, "the real one\n"), done.stderr
