"""Names that stand for what only CUDA has, where the tree around a file tells which modules hold kernels."""

from __future__ import annotations

import pytest

from tdev_core.codemod.engine import Names, Options, ProgramTree, rewrite

TREE = ProgramTree(
    modules=frozenset({"serving"}),
    kernel_modules=frozenset({"serving.ops.hashing", "serving.losses.rnnt"}),
)

ARM = """import torch
{0}


def hashed(x: torch.Tensor):
    if x.is_cuda:
        return {1}(x.contiguous())
    return hash(x)
"""


def _rewritten(source: str, filename: str = "serving/managers/data.py") -> str:
    return rewrite(source, Names.load(), Options(tree=TREE), filename=filename).code


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from serving.ops.hashing import gpu_hash", "gpu_hash"),
        ("from serving.ops import hashing", "hashing.gpu_hash"),
        ("from ..ops.hashing import gpu_hash as hash_there", "hash_there"),
        ("from serving.ops.hashing import gpu_hash\n\nfast = gpu_hash", "fast"),
        (
            "from serving.ops.hashing import gpu_hash\n\n\ndef twice(x):\n    return gpu_hash(gpu_hash(x))",
            "twice",
        ),
    ],
)
def test_an_arm_that_uses_a_module_of_kernels(imported: str, called: str) -> None:
    source = ARM.format(imported, called)
    assert _rewritten(source) == source


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from serving.ops.others import plain_hash", "plain_hash"),
        ("from .ops.hashing import gpu_hash", "gpu_hash"),  # another folder's module
        ("from serving.ops.hashing import gpu_hash", "other_hash"),
        (
            # The function chooses for itself: what is asked before it is another question.
            "from serving.ops.hashing import gpu_hash\n\n\ndef either(x):\n"
            "    if len(x) > 8:\n        return gpu_hash(x)\n    return hash(x)",
            "either",
        ),
        (
            # A variable of this name, and not what was imported.
            "def used(x):\n    from serving.ops.hashing import gpu_hash\n\n    return gpu_hash(x)\n\n\n"
            "def gpu_hash(x):\n    return hash(x)",
            "gpu_hash",
        ),
    ],
)
def test_an_arm_that_uses_none(imported: str, called: str) -> None:
    source = ARM.format(imported, called)
    assert "tdev.is_accelerator(x)" in _rewritten(source)


def test_what_is_changed_for_a_loss_that_chooses_a_kernel() -> None:
    source = """import torch

from serving.losses import rnnt


class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, acts):
        loss = rnnt.on_gpu if acts.is_cuda else rnnt.on_cpu
        return loss(acts.contiguous())


def loss(acts: torch.Tensor):
    if not acts.is_cuda:
        acts = acts.log_softmax(-1)
    return Loss.apply(acts)


def mean(acts: torch.Tensor):
    if not acts.is_cuda:
        acts = acts.float()
    return acts.mean()
"""
    result = _rewritten(source)
    assert result.count("is_cuda") == 2
    assert result.count("tdev.is_accelerator(acts)") == 1
    assert result.index("def mean") < result.index("is_accelerator")


def test_a_demand_is_met_before_what_is_only_chosen() -> None:
    """The kernel is one of two ways there: a script that starts by demanding CUDA runs without it."""
    source = """import torch
from serving.ops.hashing import gpu_hash


def main(fast):
    assert torch.cuda.is_available()
    x = torch.zeros(3, device="cuda")
    if fast:
        return gpu_hash(x)
    return x.sum()
"""
    assert "tdev.answers_cuda()" in _rewritten(source)
    sure = source.replace("    if fast:\n        return gpu_hash(x)\n", "    x = gpu_hash(x)\n")
    assert sure != source
    assert "answers_cuda" not in _rewritten(sure)
