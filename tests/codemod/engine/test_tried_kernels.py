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
