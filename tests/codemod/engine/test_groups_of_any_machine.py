"""Process groups of a backend that every machine has, in a program that asks groups for their backend."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

CHOOSER = """\
import torch
import torch.distributed as dist


class Chooser:
    def __init__(self):
        self._group: dist.ProcessGroup = dist.new_group(backend="gloo")

    def choose(self, at):
        number = torch.IntTensor([at])
        dist.broadcast(number, 0, group=self._group)
        return number.item()
"""
ASKS = "import torch.distributed as dist\n\n\ndef barrier(group):\n    return dist.get_backend(group)\n"


def test_a_group_that_nobody_else_gets_is_torchs() -> None:
    assert migrated({"made.py": CHOOSER, "groups.py": ASKS}).code == CHOOSER


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return number.item()", "return barrier(self._group)"),
        ("self._group", "self.group"),
        ("self._group: dist.ProcessGroup =", "self._group = self.shared ="),
        ("return number.item()", "return dist.get_backend(self._group)"),
    ],
)
def test_one_that_may_be_asked_is_tdevs(old: str, new: str) -> None:
    made = {"made.py": CHOOSER.replace(old, new), "groups.py": ASKS}
    assert "import tdev.distributed as dist" in migrated(made).code
