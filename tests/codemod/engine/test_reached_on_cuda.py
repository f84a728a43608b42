"""Functions that one file of a tree uses, where a question for CUDA opens it that stays."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite

CODE = """\
import torch


class Separator:
    def set_up(self):
        if torch.cuda.is_available():
            self.configure_cuda()
        elif torch.backends.mps.is_available():
            self.configure_mps()

    def configure_cuda(self):
        self.device = torch.device("cuda")
        torch.cuda.set_device(self.device)

    def configure_mps(self):
        self.device = torch.device("mps")


def free():
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ("import torch\ntorch.cuda.synchronize()\n", True),
        ("def run(separator):\n    separator.configure_cuda()\n", False),
        ("from .separator import Separator\ntorch.cuda.synchronize()\n", True),
    ],
)
def test_a_method_that_only_what_stays_calls(other: str, stays: bool) -> None:
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/separator.py"), CODE.encode(), "pkg")
    seen.see(PurePath("/src/pkg/other.py"), other.encode(), "pkg")
    options = Options(tree=seen.tree())
    code = rewrite(CODE, Names.load(), options, filename="/src/pkg/separator.py").code
    assert ("    torch.cuda.set_device(self.device)" in code) is stays
    assert "    tdev.cuda.empty_cache()" in code


def test_a_function_that_is_called_off_cuda_as_well() -> None:
    code = CODE.replace("        elif", "        self.configure_cuda()\n        if")
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/separator.py"), code.encode(), "pkg")
    options = Options(tree=seen.tree())
    changed = rewrite(code, Names.load(), options, filename="/src/pkg/separator.py").code
    assert "    tdev.cuda.set_device(self.device)" in changed
