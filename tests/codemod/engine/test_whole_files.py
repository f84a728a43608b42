"""Files that are one kind of device's as a whole, as the tree around them tells."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, ProgramTree, Style, Survey, rewrite
from tests.codemod.small_trees import migrated

NAMES = Names.load()
CODE = 'import torch\n{imports}\n\ndef test_it():\n    torch.zeros(3, device="cuda")\n'


def surveyed() -> ProgramTree:
    """Survey a package with a module of kernels, a package of nothing else, and backends side by side."""
    seen = Survey()
    for path, text in (
        ("pkg/__init__.py", ""),
        ("pkg/model.py", "from pkg.ops.norm import norm"),
        ("pkg/ops/norm.py", "load_inline(name='norm', cuda_sources=SOURCE)"),
        ("pkg/ops/plain.py", "import torch"),
        ("pkg/accelerators/cuda.py", ""),
        ("pkg/accelerators/mps.py", ""),
        ("pkg/cuda.py", ""),
        ("pkg/library/cuda/marlin.py", ""),
        ("pkg/library/hip/__init__.py", ""),
        ("pkg/solo/cuda/lone.py", ""),
        ("pkg/solo/cpu/lone.py", ""),
        ("pkg/fused/_triton/rows.py", "@triton.jit\ndef rows(): ..."),
        ("pkg/ext.py", "load(name='pkg_ext', sources=['cuda/rows.cu'])".replace("'", '"')),
        ("kern/__init__.py", "from kern.gemm import gemm"),
        ("kern/gemm.py", "torch.ops.kern_kernels.gemm(x)"),
        (
            "pkg/guard.py",
            "_SUPPORTS_FLEX = (\n    is_available() and get_device_capability() >= (7, 5)\n)",
        ),
    ):
        seen.see(PurePath("/src", path), text.encode(), path.partition("/")[0])
    # A package in a folder that is none itself.
    seen.see(PurePath("/src/space/flat/fp8.py"), b"@triton.jit\ndef quantize(): ...", "flat")
    return seen.tree()


TREE = surveyed()


def changed(
    filename: str, imports: str = "", style: Style = "explicit", *, all_: bool = False
) -> bool:
    source = CODE.format(imports=imports)
    result = rewrite(source, NAMES, Options(style=style, tree=TREE, all=all_), filename=filename)
    told = [f for f in result.findings if (f.rule, f.severity) != ("cuda-only-import", "warning")]
    assert (result.code == source) is bool(told)  # what stays is told
    return result.code != source


@pytest.mark.parametrize(
    ("name", "stays"),
    [
        ("pkg/backends/cuda/moe.py", True),
        ("pkg/platform/cuda/x/y.py", True),
        ("cuda/x.py", False),
        ("pkg/library/cuda/marlin.py", True),
        ("pkg/library/marlin.py", False),
        ("pkg/solo/cuda/lone.py", False),
    ],
)
def test_the_folder_of_cuda_among_backends_stays(name: str, stays: bool) -> None:
    assert changed(name) is not stays
    assert changed(name, all_=True)


@pytest.mark.parametrize("style", ["explicit", "alias", "accelerator"])
@pytest.mark.parametrize(
    "imports",
    [
        "from pkg.ops.norm import norm",
        "from pkg.ops import (\n    norm,\n)",
        "import kern",
        "from kern import gemm",
        "from space.flat.fp8 import quantize",
        "from pkg.fused import rows",
    ],
)
def test_a_test_of_kernels_stays(imports: str, style: Style) -> None:
    assert not changed("tests/test_norm.py", imports, style)
    assert not changed("pkg/benchmarks/norm.py", imports, style)
    assert not changed("pkg/jit_kernel/tests/test_norm.py", style=style)
    assert changed("pkg/jit_kernel/norm.py", style=style) is (style != "accelerator")


@pytest.mark.parametrize("style", ["explicit", "alias", "accelerator"])
@pytest.mark.parametrize(
    "imports", ["from pkg.ext import none, pkg_ext as ext_c", "from .ext import (\n    pkg_ext,\n)"]
)
def test_what_cannot_be_imported_without_an_extension_stays(imports: str, style: Style) -> None:
    assert not changed("pkg/linear.py", imports, style)
    assert changed("pkg/linear.py", imports, style, all_=True)
    assert changed("pkg/linear.py", imports.replace("pkg_ext", "helper"), style)
    assert changed("pkg/linear.py", imports.replace(".ext", ".model"), style)


@pytest.mark.parametrize("imports", ["from pkg.model import M", "from pkg.ops import plain", ""])
def test_a_test_of_what_calls_them_changes(imports: str) -> None:
    assert changed("tests/test_model.py", imports)


def test_what_is_no_test_changes_beside_kernels() -> None:
    assert changed("pkg/model.py", "from pkg.ops.norm import norm")
    assert changed("tests/test_norm.py", "from pkg.ops.norm import norm", all_=True)


def test_cudas_module_stays_beside_those_of_others() -> None:
    assert not changed("pkg/accelerators/cuda.py")
    assert changed("pkg/cuda.py")
    assert not changed(
        "pkg/accelerators/mps.py", "torch.mps.empty_cache(); torch.mps.synchronize()"
    )


@pytest.mark.parametrize("name", ["mps_utils.py", "train_mps.py", "npu/utils.py", "hip_ops.py"])
def test_a_name_decides_where_the_text_says_the_same(name: str) -> None:
    whose = name[:3] if name[:3] in ("npu", "hip") else "mps"
    assert changed(name)
    assert not changed(name, f"{whose}.empty_cache(); {whose}.synchronize()")
    script = f"{whose}.empty_cache(); {whose}.synchronize()\nif __name__ == '__main__': pass"
    assert changed(name, script)
    assert not changed(name, style="accelerator")


@pytest.mark.parametrize("folder", ["ascend", "camb", "maca"])
def test_a_folder_that_is_called_after_a_vendors_accelerator(folder: str) -> None:
    assert changed(f"pkg/{folder}/ops.py")
    assert not changed(f"pkg/{folder}/ops.py", f"from .{folder} import a; {folder}.empty_cache()")


# Another file of the tree, and one that joins it: what stays with ``accelerator``, and what does not.
_GET = "def get_device():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'\n"
_ASKS = "from pkg.a import get_device\nimport pynvml\nif get_device().type == 'cuda': x.to('cuda:1', torch.cuda.get_rng_state())\n"
_MADE = "from pkg.b import make\nif torch.cuda.is_available(): make(x.cuda())\n"
_USED = "use_gpu = torch.cuda.is_available()\nif use_gpu: x.cuda()\n"


@pytest.mark.parametrize(
    ("other", "source", "stays"),
    [
        (_ASKS, _GET, True),
        (_ASKS.replace("get_device", "get_model"), _GET, False),
        (
            "def make():\n    torch.cuda.nvtx.mark('x')\n",
            _MADE,
            True,
        ),
        # Without a question it needs CUDA as it is, and takes nothing of the CPU's there.
        (
            "def make():\n    torch.cuda.nvtx.mark('x')\n",
            "from pkg.b import make\nmake(x.cuda())\n",
            False,
        ),
        ("def make():\n    x.cuda()\n", _MADE, False),
        ('def make():\n    """CUDA"""\n', _MADE, False),
        ("def main(use_gpu):\n    if use_gpu: torch.cuda.init()\n", _USED, True),
        ("", _USED, False),
    ],
)
def test_what_joins_files_that_go_on_naming_cuda(other: str, source: str, stays: bool) -> None:
    seen = Survey()
    texts = {"pkg/__init__.py": "", "pkg/a.py": f"import torch\n{source}", "pkg/b.py": other}
    for path, text in texts.items():
        seen.see(PurePath("/src", path), text.encode(), "pkg", PurePath("/src"))
    options = Options(style="accelerator", tree=seen.tree())
    result = rewrite(texts["pkg/a.py"], NAMES, options, filename="/src/pkg/a.py")
    assert (result.code == texts["pkg/a.py"]) is stays
    assert any("is left whole" in found.message for found in result.findings) is stays


def test_a_flag_of_the_architecture() -> None:
    """A flag of another module that is made of a question for CUDA's architecture opens CUDA's arm."""
    source = """\
import torch
from pkg.guard import {flag}


def mask(ids):
    if {flag}:
        ids = ids.to("cuda")
    return ids
"""
    options = Options(style="accelerator", tree=TREE)
    for flag, stays in (("_SUPPORTS_FLEX", True), ("_HAS_PADDING", False)):
        code = source.format(flag=flag)
        assert (rewrite(code, NAMES, options, filename="pkg/attend.py").code == code) is stays


@pytest.mark.parametrize(
    ("used", "stays"), [("Wrapper", True), ("Other", False)], ids=["used", "beside it"]
)
def test_what_uses_a_package_of_kernels(used: str, stays: bool) -> None:
    """A function stays (``accelerator``) where it uses the package, and no other one of its file."""
    source = f"""\
import torch
if is_available():
    from flashinfer import Wrapper

def run(x):
    return {used}(x.cuda())
"""
    options = Options(style="accelerator", tree=TREE)
    result = rewrite(source, NAMES, options, filename="pkg/flashinfer_backend.py")
    assert (result.code == source) is stays
    assert any("is left whole" in found.message for found in result.findings) is stays


@pytest.mark.parametrize("folder", ["_tensorrt", "trt", "mps"])
def test_a_folder_that_is_called_after_what_its_files_are_about_stays(folder: str) -> None:
    named = folder.strip("_")
    source = f"import torch\n\n# Runs with {named}: {named} engines.\ntorch.cuda.synchronize()\n"
    result = rewrite(source, NAMES, Options(tree=TREE), filename=f"pkg/export/{folder}/run.py")
    assert result.code == source
    assert "is written for" in result.findings[0].message


@pytest.mark.parametrize(
    ("name", "tells", "stays"),
    [
        ("pkg/utils/collect_env.py", "print(torch.version.cuda)", True),
        ("pkg/bin/collect_env_info.py", 'run("nvidia-smi -L")', True),
        ("pkg/utils/collect_env.py", "print(torch.__version__)", False),
        ("pkg/utils/collect_envs.py", "print(torch.version.cuda)", False),
    ],
)
def test_what_tells_of_a_machine_stays(name: str, tells: str, stays: bool) -> None:
    assert changed(name, tells) is not stays


@pytest.mark.parametrize(
    ("methods", "stays"),
    [("def cuda(self): ...", True), ("def cuda(self): ...\n    def to(self, device): ...", False)],
)
def test_what_may_be_an_object_that_moves_by_cuda_alone_stays(methods: str, stays: bool) -> None:
    """``.to(…)`` of such an object fails, on CUDA too; a tensor has both."""
    seen = Survey()
    text = f"import torch\n\n\nclass Batch:\n    {methods}\n"
    seen.see(PurePath("/src/pkg/batch.py"), text.encode(), "pkg")
    code = "import torch\n\n\ndef take(batch):\n    return batch.cuda()\n\n\ndef make():\n    return torch.ones(2).cuda()\n"
    done = rewrite(code, NAMES, Options(style="accelerator", tree=seen.tree()))
    assert ("batch.cuda()" in done.code) is stays
    assert any("a Batch of this tree" in one.message for one in done.findings) is stays
    assert "torch.ones(2).to(torch.accelerator.current_accelerator())" in done.code


@pytest.mark.parametrize(
    "line, stays", [("from . import _C", True), ("from .base import _Continual", False)]
)
def test_a_name_that_begins_like_an_extension_makes_no_package_of_kernels(
    line: str, stays: bool
) -> None:
    seen = Survey()
    for name in "abcd":
        text = f"import torch.cuda\n{line}\n".encode()
        seen.see(PurePath(f"/src/top/room/{name}.py"), text, "top")
    assert ("top.room" in seen.tree().kernel_rooms) is stays


@pytest.mark.parametrize(
    "call, stays",
    [('kernel["name"](x)', False), ('kernel[f"{n}_fn"](x)', False), ("kernel[grid](x)", True)],
)
def test_a_function_of_a_table_is_no_launch(call: str, stays: bool) -> None:
    code = f'import torch\n\n\ndef run(kernel, grid, n):\n    x = torch.ones(2, device="cuda")\n    return {call}\n'
    assert (rewrite(code, NAMES, Options()).code == code) is stays


PATCHES = """import torch


def patch():
    try:
        from vllm.v1.worker import gpu_worker
    except ImportError:
        return

    def started(*args):
        if torch.cuda.is_available():
            torch.cuda.set_device(0)

    gpu_worker.started = started


def free():
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize("own", [False, True])
def test_a_patch_of_a_worker_of_vllm(own: bool) -> None:
    """It ends where there is none, and none but CUDA's is patched."""
    more = {"vllm/__init__.py": ""} if own else {}
    seen = Survey(staying=False)
    for path, text in {"made.py": PATCHES, **more}.items():
        seen.see(PurePath("/src", path), text.encode(), path.partition("/")[0])
    result = rewrite(PATCHES, Names.load(), Options(tree=seen.tree()), filename="/src/made.py")
    assert ("tdev.cuda.set_device" in result.code) is own
    assert "tdev.cuda.empty_cache" in result.code
    said = "ends where vllm.v1.worker.gpu_worker cannot be imported, as without CUDA; left as it is"
    assert (said in {each.message for each in result.findings}) is not own


@pytest.mark.parametrize(("beside", "stays"), [("amd", True), ("common", False)])
def test_a_vendors_folder_beside_another_ones(beside: str, stays: bool) -> None:
    code = "import torch\n\n\ndef streams():\n    return torch.cuda.Stream(), torch.cuda.Stream()\n"
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/model/nvidia/attention.py"), code.encode(), "pkg")
    seen.see(PurePath("/src/pkg/model", beside, "attention.py"), code.encode(), "pkg")
    options = Options(tree=seen.tree())
    for vendor in ("nvidia", beside):
        where = f"/src/pkg/model/{vendor}/attention.py"
        result = rewrite(code, Names.load(), options, filename=where)
        assert (result.code == code) is stays
        assert bool(result.findings) is stays


@pytest.mark.parametrize("built", ["import conv_cuda\n", ""])
def test_a_package_that_is_kernels_and_no_more(built: str) -> None:
    """Its `__init__` takes the layer from the module that imports them, and so does who asks for CUDA first."""
    asks = (
        "import torch\n\n\ndef conv(size):\n    if torch.cuda.is_available():\n        try:\n"
        "            from pkg.layers.conv_layer import ConvLayer\n\n            return ConvLayer(size)\n"
        "        except ImportError as error:\n            print(error)\n    return torch.nn.Linear(size, size)\n"
    )
    files = {
        "layers/conv_layer/__init__.py": "from .conv_layer import ConvLayer\n",
        "layers/conv_layer/conv_layer.py": f"{built}import torch\n\n\nclass ConvLayer(torch.nn.Module):\n    pass\n",
        "layers/conv.py": asks,
    }
    assert (migrated(files, "layers/conv.py").code == asks) is bool(built)
