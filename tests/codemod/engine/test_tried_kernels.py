"""A module may try to build kernels, and have names that are there only with them: a question for CUDA that imports one asks for that."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine.tried_kernels import tried_kernels
from tests.codemod.small_trees import migrated

BUILDS = """from torch.utils.cpp_extension import load

try:
    ops = load(name="ops", sources=["ops.cc", "ops.cu"])

    def fused(x):
        return ops.fused(x)

except Exception:
    ops = None
    fused = None

try:
    plain = load(name="plain", sources=["plain.cc"])
except Exception:
    plain = None
"""
IMPORTS = """try:
    import fused_attention

    def fused(x):
        return fused_attention.run(x)


except Exception:
    fused = None


def plain(x):
    return x
"""
FALLS_BACK = """try:
    import fused_attention

    def fused(x):
        return fused_attention.run(x)

except ImportError:

    def fused(x):
        return x
"""
USES = """import torch

FOUND = {{}}


def find():
    if torch.cuda.is_available():
        from pkg.ops import {0}

        FOUND["way"] = {0}


def free():
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("module", "name", "stays"),
    [
        (BUILDS, "fused", True),
        (BUILDS, "plain", False),
        (IMPORTS, "fused", True),
        (IMPORTS, "plain", False),
        (FALLS_BACK, "fused", False),
    ],
)
def test_what_is_there_with_kernels_alone_is_asked_for_on_cuda(
    module: str, name: str, stays: bool
) -> None:
    assert (name in set(tried_kernels(module.encode()))) is stays
    result = migrated({"__init__.py": "", "ops.py": module, "made.py": USES.format(name)})
    assert ("if torch.cuda.is_available():" in result.code) is stays
    assert "tdev.cuda.empty_cache()" in result.code
    said = [f.message for f in result.findings if "torch.cuda.is_available guards" in f.message]
    assert len(said) == stays


_HEAD = "try:\n    import fused_ops\n\n    fused = fused_ops.fused\nexcept ImportError:\n    fused = None\n"


@pytest.mark.parametrize(
    "bound",
    [
        "from pkg.fallback import (\n    other,\n    fused,\n)",
        "from pkg.fallback import *",
        "import fused",
        "async def fused(x):\n    return x",
        "class fused:\n    pass",
        "for fused in (abs,):\n    pass",
        "fused: object = abs",
        "a, fused = abs, abs",
        "with open('x') as fused:\n    pass",
        "if fused := abs:\n    pass",
        "def put():\n    global fused\n    fused = abs",
        "globals()['fused'] = abs",
    ],
)
def test_what_is_bound_in_another_way_is_there_without_kernels(bound: str) -> None:
    below = "\n".join(f"    {line}" for line in bound.splitlines())
    assert set(tried_kernels(_HEAD.encode())) == {"fused"}
    assert not set(tried_kernels(_HEAD.replace("    fused = None", below).encode()))
    assert not set(tried_kernels(f"{_HEAD}\n{bound}\n".encode()))


@pytest.mark.parametrize(
    "text",
    [
        "fused = None",
        "fused: object = None",
        "fused: object",
        "print(fused)",
        "def f(x):\n    return fused(x)",
        "__all__ = ['fused']",
    ],
)
def test_what_binds_nothing_or_none_gives_no_other(text: str) -> None:
    assert set(tried_kernels(f"{_HEAD}\n{text}\n".encode())) == {"fused"}


_LINES = "\n".join(f"        import fused_{number}" for number in range(200))


@pytest.mark.parametrize(
    ("ends", "names"),
    [
        ("finally:\n    pass\n", set()),
        ("except (\n    ImportError,\n    OSError,\n):\n    fused = None\n", {"fused"}),
        ("except ImportError: pass", {"fused"}),
        ("", set()),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_long_block_is_read_once(ends: str, names: set[str], newline: str) -> None:
    """A pattern that can divide each of these lines in several ways would not come to an end."""
    text = f"try:\n    if 1:\n{_LINES}\n    fused = fused_0.run\n{ends}"
    assert set(tried_kernels(text.replace("\n", newline).encode())) == names
