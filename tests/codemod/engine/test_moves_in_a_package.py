"""Modules that move something to what a person typed, in a package which imports tdev in other modules."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, ProgramTree, Survey, rewrite

CODE = """\
import torch


class Layer:
    def __init__(self, config):
        self.device = config["device"]

    def positions(self, n):
        return torch.arange(n).to(self.device)
"""


def surveyed(other: str, text: str) -> ProgramTree:
    seen = Survey()
    seen.see(PurePath("/src/pkg/layer.py"), CODE.encode(), "pkg")
    seen.see(PurePath("/src", other), text.encode(), other.partition("/")[0])
    return seen.tree()


@pytest.mark.parametrize(
    ("other", "text", "imported"),
    [
        ("pkg/trainer.py", "torch.cuda.synchronize()", False),
        ("pkg/trainer.py", "import tdev\ntdev.cuda.synchronize()", False),
        ("pkg/trainer.py", "torch.zeros(3)", True),
        ("pkg/tests/test_it.py", "torch.cuda.synchronize()", True),
        ("pkg/train.py", "torch.cuda.synchronize()\nif __name__ == '__main__': ...", True),
        ("other/trainer.py", "torch.cuda.synchronize()", True),
    ],
)
def test_a_module_without_cuda_relies_on_its_package(other: str, text: str, imported: bool) -> None:
    options = Options(tree=surveyed(other, text))
    code = rewrite(CODE, Names.load(), options, filename="/src/pkg/layer.py").code
    assert ("import tdev" in code) is imported


def test_one_that_names_cuda_imports_it_itself() -> None:
    options = Options(tree=surveyed("pkg/trainer.py", "torch.cuda.synchronize()"))
    source = CODE + "\n\ndef move(x):\n    return x.cuda()\n"
    code = rewrite(source, Names.load(), options, filename="/src/pkg/layer.py").code
    assert "import tdev" in code
