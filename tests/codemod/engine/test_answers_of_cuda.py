"""A function that is nothing but the question for CUDA is its package's answer to others where nothing in the tree calls it."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

ANSWERS = """import torch


def {name}(device, quiet=False):
    if quiet:
        answer = False
        try:
            answer = torch.device(device).type == "cuda"
        except RuntimeError:
            pass
        return answer
    return torch.device(device).type == "cuda"
"""
CALLS = "from pkg.made import {name}\n\n\ndef place(x, device):\n    return x.cuda() if {name}(device) else x\n"


@pytest.mark.parametrize("name", ["is_device_cuda", "is_cuda", "device_is_cuda", "on_cuda"])
def test_it_stays_where_nothing_calls_it(name: str) -> None:
    code = ANSWERS.format(name=name)
    result = migrated({"made.py": code})
    assert result.code == code
    assert [f.message.partition(":")[0] for f in result.findings] == [
        f"{name} is asked by nothing in the tree"
    ]


@pytest.mark.parametrize(
    ("name", "called"),
    [("is_device_cuda", True), ("may_use_cuda", False), ("is_on", False)],
)
def test_it_is_asked_of_tdev_otherwise(name: str, called: bool) -> None:
    files = {"made.py": ANSWERS.format(name=name)}
    if called:
        files["other.py"] = CALLS.format(name=name)
    assert "tdev.is_accelerator(" in migrated(files).code


def test_what_does_more_than_to_answer_is_none() -> None:
    code = 'import torch\n\n\ndef is_on_cuda(x):\n    if x.device.type == "cuda":\n        return x.cuda()\n    return x\n'
    assert "tdev" in migrated({"made.py": code}).code
