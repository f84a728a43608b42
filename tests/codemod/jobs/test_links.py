"""With ``--target accelerator`` no file parts from those that it works with and that go on naming CUDA."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tdev_core.codemod.cli import main

TRAIN = """\
import torch

from pkg.nets import Net


def train(x):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    return net(x.to(device))
"""
CLOSED = """\
import torch

from pkg.nets import Net


def train(x):
    net = Net().cuda()
    return net(x.cuda())
"""
STEP = """\
import torch


def step(x):
    return x.to("cuda" if torch.cuda.is_available() else "cpu")
"""
PLAIN = "class Net:\n    pass\n"
STAYS = "import torch\n\n\ndef capability():\n    return torch.cuda.get_device_capability()\n"


def _left(tree: Path, capsys: pytest.CaptureFixture[str], name: str) -> str:
    """Return why a file of the tree is left, after a run over the tree; empty where it would change."""
    capsys.readouterr()
    main(["--check", "--target", "accelerator", "--report", "json", "--quiet", str(tree)])
    report = json.loads(capsys.readouterr().out)
    [result] = [r for r in report["results"] if r["path"].endswith(name)]
    left = [f["message"] for f in result["findings"] if "is left whole" in f["message"]]
    assert bool(left) != (result["status"] == "changed")
    return left[0].partition("is left whole: ")[2] if left else ""


def _write(tree: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


@pytest.mark.parametrize(
    "nets, why",
    [
        (PLAIN, ""),
        # Both change.
        ("import torch\n\n\nclass Net:\n    w = torch.zeros(2).cuda()\n", ""),
        (
            "import torch\n\n\nclass Net:\n    w = torch.cuda.FloatTensor(2)\n",
            "it uses Net of pkg.nets, which goes on taking tensors to CUDA",
        ),
        # It changes, and what stays beside it does not meet it.
        (
            "import torch\n\n\nclass Net:\n    w = torch.zeros(2).cuda()\n\n\nN = torch.version.cuda\n",
            "",
        ),
        # What is named CUDA beside it is not used.
        (PLAIN + "\n\n" + STAYS, ""),
        # Two steps away, through a base class and a package.
        (
            "from pkg.base import Base\n\n\nclass Net(Base):\n    pass\n",
            "it uses Base of pkg.base.core, which goes on taking tensors to CUDA",
        ),
        (
            "import torch\n\n\nclass Net:\n    dtype = torch.double\n",
            "it uses Net of pkg.nets, which computes in double precision",
        ),
    ],
)
def test_a_file_stays_for_what_it_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nets: str, why: str
) -> None:
    _write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/nets.py": nets,
            "pkg/base/__init__.py": "from .core import *\n",
            "pkg/base/core.py": "class Base:\n    t = torch.cuda.HalfTensor\n",
            "train.py": TRAIN,
        },
    )
    assert _left(tmp_path, capsys, "train.py") == why


@pytest.mark.parametrize(
    "body, why",
    [
        (
            "w = torch.cuda.FloatTensor(2)",
            "it uses Net of pkg.nets, which goes on taking tensors to CUDA",
        ),
        ("w = torch.zeros(2).cuda()", ""),
        ("names = torch.cuda.get_device_name", ""),
        ("dtype = torch.double", ""),
        ('def __init__(self, device="cuda"): ...', ""),
        ("stream: torch.cuda.Stream", ""),
        (
            "stream: torch.cuda.Stream = torch.cuda.ExternalStream(0)",
            "it uses Net of pkg.nets, which goes on taking tensors to CUDA",
        ),
    ],
)
def test_what_needs_cuda_stays_for_what_takes_tensors_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, why: str
) -> None:
    """Nothing of it ran on the CPU, which a question or a dtype elsewhere could tell from another accelerator."""
    nets = f"import torch\n\n\nclass Net:\n    {body}\n"
    _write(tmp_path, {"pkg/__init__.py": "", "pkg/nets.py": nets, "train.py": CLOSED})
    assert _left(tmp_path, capsys, "train.py") == why


def test_a_module_is_found_by_the_end_of_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of examples is imported from where it is run."""
    _write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/examples/__init__.py": "",
            "pkg/examples/glow.py": "import torch\n\n\nclass Net:\n    t = torch.cuda.HalfTensor\n",
            "pkg/examples/use.py": TRAIN.replace("from pkg.nets", "from examples.glow"),
        },
    )
    why = "it uses Net of pkg.examples.glow, which goes on taking tensors to CUDA"
    assert _left(tmp_path, capsys, "use.py") == why


@pytest.mark.parametrize(
    "user, why",
    [
        ("from pkg.step import step\n\nstep(1)\n", ""),
        (
            "import torch\nfrom pkg.step import step\n\nmodel = torch.zeros(2).cuda\nstep(model())\n",
            "user uses step and goes on naming CUDA",
        ),
        # Where it meets what stays.
        (
            "from pkg.step import step\nfrom pkg.stays import capability\n\nstep(capability())\n",
            "user uses it too, and uses capability of pkg.stays, which goes on naming CUDA",
        ),
    ],
)
def test_a_file_stays_for_who_uses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], user: str, why: str
) -> None:
    _write(
        tmp_path,
        {
            "pkg/__init__.py": "",
            "pkg/stays.py": STAYS,
            "pkg/step.py": STEP,
            "user.py": user,
        },
    )
    assert _left(tmp_path, capsys, "step.py") == why


def test_modules_may_use_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = "import torch\nfrom pkg.{0} import {0}\n\n\ndef {1}(x):\n    return {0}(x.cuda())\n"
    _write(
        tmp_path,
        {"pkg/__init__.py": "", "pkg/a.py": one.format("b", "a"), "pkg/b.py": one.format("a", "b")},
    )
    assert _left(tmp_path, capsys, "a.py") == ""


def test_a_notebook_stays_for_what_its_cells_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["%pip install pkg\n", "import torch\nfrom pkg.stays import Net\n", "Net().cuda()\n"]
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": c,
            }
            for c in cells
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    stays = "import torch\n\n\nclass Net:\n    t = torch.cuda.HalfTensor\n"
    _write(tmp_path, {"pkg/__init__.py": "", "pkg/stays.py": stays})
    (tmp_path / "use.ipynb").write_text(json.dumps(notebook, indent=1))
    why = "it uses Net of pkg.stays, which goes on naming CUDA"
    assert _left(tmp_path, capsys, "use.ipynb") == why
