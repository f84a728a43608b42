"""Demands for CUDA and choices: one table for both codemod styles and for `tdev run`.

``met``: the demand becomes ``answers_cuda``, which is true on every backend. ``kept``: the question stays
and is reported. ``choice``: it is answered for what it is.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, ProgramTree, Style, rewrite
from tdev_core.run.rewriting import rewritten_tree

IS = "torch.cuda.is_available()"


@dataclass(frozen=True)
class Case:
    """One source, what the codemod makes of it, and what ``tdev run`` does (the same, unless said)."""

    name: str
    source: str
    codemod: str
    run: str = ""


CASES = [
    Case("assert", f"assert {IS}, 'CUDA is required'\nx = torch.ones(2).cuda()", "met"),
    Case("assert in main", f"def main():\n    assert {IS}\n    torch.ones(2).cuda()", "met"),
    Case("raise", f"if not {IS}:\n    raise RuntimeError('needs CUDA')", "met"),
    Case("exit", f"import sys\nif not {IS}:\n    print('no GPU')\n    sys.exit(1)", "met"),
    Case("else", f"if {IS}:\n    d = 'cuda'\nelse:\n    raise SystemExit('no GPU')", "met"),
    Case("or exit", f"{IS} or exit('no GPU')", "met"),
    Case("flag", f"if args.cuda and not {IS}:\n    raise ValueError", "choice", run="met"),
    Case(
        "flag around",
        f"def f(use_cuda):\n    if use_cuda:\n        if {IS}:\n            d = 'cuda'\n        else:\n"
        "            raise ValueError\n    else:\n        d = 'cpu'\n    return d",
        "choice",
        run="met",
    ),
    Case(
        "return in main",
        f"def main():\n    if not {IS}:\n        print('needs a GPU')\n        return\n    go()",
        "met",
    ),
    Case("count", "assert torch.cuda.device_count() > 0", "met"),
    Case("no count", "if torch.cuda.device_count() == 0:\n    raise RuntimeError", "met"),
    Case("two of them", "assert torch.cuda.device_count() >= 2", "choice"),
    Case(
        "returns another",
        f"def f():\n    if not {IS}:\n        return 'cpu'\n    return 'cuda'",
        "choice",
    ),
    Case("conditional", f"d = 'cuda' if {IS} else 'cpu'", "choice"),
    Case(
        "passes by",
        f"def f():\n    if not {IS}:\n        return\n    torch.cuda.empty_cache()",
        "choice",
    ),
    Case("compared with something", f"assert {IS} == 'patched'", "choice"),
    Case("argument", f"f({IS})", "choice"),
    Case(
        "optional package",
        f"assert {IS}\ntry:\n    from apex import amp\nexcept ImportError:\n    amp = None",
        "met",
    ),
    Case("flash by torch", f"assert {IS}\ntorch.backends.cuda.enable_flash_sdp(True)", "met"),
    Case("package", f"def main():\n    assert {IS}\n    import cupy\n    cupy.zeros(3)", "kept"),
    Case(
        "package with a stand-in",
        f"def main():\n    assert {IS}\n    import apex\n    apex.amp.init()",
        "met",
    ),
    Case("extension", f"if not {IS}:\n    raise ImportError\nfrom . import _C\n_C.op()", "kept"),
    Case("library op", f"def main():\n    assert {IS}\n    torch.ops.mine.op(1)", "kept"),
    Case(
        "a call further",
        f"def main():\n    assert {IS}\n    go()\ndef go():\n    _mul_kernel[(1,)](1)",
        "kept",
    ),
    Case(
        "is_cuda",
        "def f(x):\n    if not x.is_cuda:\n        raise ValueError('not on CUDA')\n    return x * 2",
        "met",
    ),
    Case(
        "assert is_cuda",
        "def f(x):\n    assert x.is_cuda and x.dim() == 2\n    return x + 1",
        "met",
    ),
    Case("all of them", "def f(xs):\n    assert all(x.is_cuda for x in xs)\n    return xs", "met"),
    Case(
        "checked", "def f(x):\n    torch._check(x.is_cuda, lambda: 'CUDA')\n    return x + 1", "met"
    ),
    Case(
        "before a kernel",
        "from kernels import quantize\n\n\ndef f(x):\n    if not x.is_cuda:\n"
        "        raise ValueError('quantize requires a CUDA tensor')\n    return quantize(x)",
        "kept",
        "met",
    ),
    Case(
        "before something unknown, without a word",
        "from layers import scale\n\n\ndef f(x):\n    assert x.is_cuda\n    return scale(x)",
        "met",
    ),
    Case(
        "docstring",
        "from layers import scale\n\n\ndef f(x):\n    '''Scale on an NVIDIA GPU.'''\n"
        "    assert x.is_cuda\n    return scale(x)",
        "kept",
        "met",
    ),
    Case(
        "in a file with kernels",
        "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n\n\ndef f(x):\n    assert x.is_cuda\n    k[(1,)](x)",
        "kept",
    ),
    Case(
        "a check for its callers",
        "def _check_cuda(x):\n    if x.device.type != 'cuda':\n        raise ValueError('must be on CUDA')",
        "kept",
        "met",
    ),
    Case(
        "a class that is CUDA's",
        "class CUDAAccelerator:\n    def setup(self, device):\n        if device.type != 'cuda':\n"
        "            raise ValueError\n        torch.cuda.set_device(device)",
        "kept",
        "met",
    ),
    Case("device", "def f(device):\n    assert device.type == 'cuda'\n    return device", "met"),
    Case(
        "no device",
        "def f(x):\n    if x.device.type != 'cuda':\n        raise ValueError\n    return x",
        "met",
    ),
    Case(
        "chooses by device",
        "def f(device):\n    return 1 if device.type == 'cuda' else 2",
        "choice",
    ),
    Case(
        "skip of torch alone",
        f"import pytest\n\n\ndef test():\n    if not {IS}:\n        pytest.skip('requires CUDA')\n    torch.ones(2).cuda()",
        "choice",
    ),
    Case(
        "skip of something unknown",
        "import pytest\nfrom mypkg import op\n\n\n"
        f"@pytest.mark.skipif(not {IS}, reason='requires CUDA')\ndef test():\n    op()",
        "kept",
        "choice",
    ),
]


def _became(code: str, findings: tuple[object, ...]) -> str:
    return "met" if "answers_cuda(" in code else "kept" if findings else "choice"


@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_codemod(case: Case, style: Style) -> None:
    source = f"import torch\n{case.source}\n"
    result = rewrite(source, Names.load(), Options(style=style))
    loud = tuple(
        f for f in result.findings if f.rule in ("demand", "is-cuda", "cuda-kernel", "comparison")
    )
    assert _became(result.code, loud) == case.codemod, result.findings
    if case.codemod == "met":
        assert [f.rule for f in loud] == ["demand"]  # it is reported
    again = rewrite(result.code, Names.load(), Options(style=style))
    assert again.code == result.code


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_run(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """What decides is the same, but a started program's demand is met where the codemod cannot know.

    So it is, too, where it guards a kernel that Triton interprets: tests/packages/test_interpreter.py.
    """
    monkeypatch.setenv("TDEV_TRITON", "0")
    tree, known, _ = rewritten_tree(f"import torch\n{case.source}\n".encode(), "case.py")
    assert known
    met = tree is not None and "answers_cuda(" in ast.unparse(tree)
    assert met == ((case.run or case.codemod) == "met")


@pytest.mark.parametrize(
    ("tree", "verdict"),
    [
        (ProgramTree(modules=frozenset({"kernels"})), "met"),
        (ProgramTree(modules=frozenset({"kernels"}), kernels=frozenset({"kernels"})), "kept"),
        (ProgramTree(modules=frozenset({"others"})), "kept"),
    ],
)
def test_what_is_called_may_be_in_the_tree(tree: ProgramTree, verdict: str) -> None:
    case = next(case for case in CASES if case.name == "before a kernel")
    result = rewrite(f"import torch\n{case.source}\n", Names.load(), Options(tree=tree))
    assert _became(result.code, result.findings) == verdict


def test_a_launcher_that_logs_is_met() -> None:
    """Its log runs anywhere, and the number per machine is no word of Ray's where nothing works with Ray."""
    path = Path(__file__).parents[1] / "cases/explicit/demand/launcher_that_logs.in.py"
    tree = ProgramTree(modules=frozenset({"launching"}))
    result = rewrite(path.read_text(), Names.load(), Options(tree=tree))
    assert "assert tdev.answers_cuda()" in result.code
    ray = ProgramTree(modules=frozenset({"launching"}), uses_ray=True)
    result = rewrite(path.read_text(), Names.load(), Options(tree=ray))
    assert "num_gpus_per_machine <= torch.cuda.device_count()" in result.code


COUNT = "torch.cuda.device_count()"
NEEDED = {
    "remainder": f"torch.cuda.set_device(rank % {COUNT})",
    "share": f"batch = total // {COUNT}",
    "quotient": f"a, b = divmod(rank, {COUNT})",
    "processes": f"mp.spawn(main, args=(1,), nprocs={COUNT}, join=True)",
    "third argument": f"torch.multiprocessing.start_processes(main, (1,), {COUNT})",
    "variable": f"n = {COUNT}\nif n > 1:\n    print(n)\nlocal_rank = rank % n",
    "variable read in a function": f"WORLD = {COUNT}\ndef go():\n    mp.spawn(main, nprocs=WORLD)",
}
NOT_NEEDED = {
    "numerator": f"each = {COUNT} / 2",
    "loop": f"for i in range({COUNT}):\n    pass",
    "asked": f"if torch.cuda.is_available():\n    i = rank % {COUNT}",
    "asked at once": f"i = rank % {COUNT} if {COUNT} > 0 else 0",
    "variable asked": f"n = {COUNT}\nif n == 0:\n    n_cpu()\ni = rank % n",
    "variable true": f"n = {COUNT}\nif n:\n    i = rank % n",
    "variable with another value": f"n = {COUNT}\nn = n or 1\ni = rank % n",
    "variable of no concern": f"n = {COUNT}\nprint(n)",
}


@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize("name", NEEDED)
def test_a_count_that_must_not_be_zero(name: str, style: Style) -> None:
    result = rewrite(f"import torch\n{NEEDED[name]}\n", Names.load(), Options(style=style))
    tdev = "tdev" if style == "explicit" else "torch"
    assert result.code.count(f"max(1, {tdev}.cuda.device_count())") == 1, result.code
    assert rewrite(result.code, Names.load(), Options(style=style)).code == result.code
    tree, _, _ = rewritten_tree(f"import torch\n{NEEDED[name]}\n".encode(), "case.py")
    assert tree is not None and ast.unparse(tree).count("max(1, ") == 1


@pytest.mark.parametrize("name", NOT_NEEDED)
def test_a_count_that_may_be_zero(name: str) -> None:
    result = rewrite(f"import torch\n{NOT_NEEDED[name]}\n", Names.load(), Options())
    assert "max(1" not in result.code and "tdev.cuda.device_count()" in result.code


@pytest.mark.parametrize(
    ("name", "body", "stays"),
    [
        ("detect/learned_kernel.py", "    return k.cpu()", False),
        ("detect/kernels.py", "    return k.cpu()", False),
        ("ops/gemm_kernel.py", "    return fused_gemm(k)", True),
        ("kernels/learned.py", "    return k.cpu()", True),
    ],
)
def test_a_file_called_after_kernels(name: str, body: str, stays: bool) -> None:
    """A function of two points is a kernel, too: what a file by itself is called tells nothing without what it calls."""
    source = f"def run(k):\n    if k.device.type == 'cuda':\n    {body}\n    return k + 1\n"
    result = rewrite(f"import torch\n\n\n{source}", Names.load(), Options(), filename=name)
    assert ("is_accelerator" not in result.code) is stays
