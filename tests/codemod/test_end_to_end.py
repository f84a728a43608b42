"""The command as users have it: the real rules, real processes, files of every kind."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import Ran

ROOT = Path(__file__).resolve().parents[2]
REAL = "tdev_core.codemod.engine"
Codemod = Callable[..., Ran]

SOURCE = """\
import torch
import torch.nn as nn

device = torch.device("cuda")
net = nn.Linear(2, 2).to("cuda")
torch.cuda.synchronize()
note = "the file /data/runs/m.pt"
"""


def test_lines_with_a_projects_own_mark_stay(place: Path, codemod: Codemod) -> None:
    marked = "torch.cuda.synchronize()  # cuda: on  purpose\n"
    (place / "a.py").write_text("import torch\n\n" + marked + "torch.cuda.synchronize()\n")
    (place / "pyproject.toml").write_text("[tool.tdev]\nkeep = ['# cuda: on purpose']\n")
    assert codemod("--force", "a.py", engine=REAL).status == 0
    assert (place / "a.py").read_text() == (
        "import tdev\nimport torch\n\n" + marked + "tdev.cuda.synchronize()\n"
    )


def test_a_file_that_needs_cuda_is_rewritten_where_that_is_asked_for(
    place: Path, codemod: Codemod
) -> None:
    source = "import cupy\nimport torch\n\ntorch.cuda.synchronize()\nx = torch.ones(1).is_cuda\n"
    (place / "a.py").write_text(source)
    alone = codemod("--check", "a.py", engine=REAL)
    assert alone.status == 1
    assert alone.out.startswith("a.py:1:1 cuda-only-import") and alone.out.count("\n") == 1
    every = codemod("--check", "--all", "a.py", engine=REAL)
    assert {"cuda-only-import", "cuda-reference"} <= {f.split()[1] for f in every.out.splitlines()}
    assert codemod("--force", "--all", "a.py", engine=REAL).status == 1
    assert "tdev.cuda.synchronize()" in (place / "a.py").read_text()


@pytest.fixture
def project(place: Path) -> Path:
    (place / "pkg").mkdir()
    (place / "pkg/a.py").write_text(SOURCE)
    (place / "pkg/kept.py").write_text("# tdev: keep\n" + SOURCE)
    (place / "pkg/win.py").write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    cells = [
        ["%matplotlib inline\n", "import torch"],
        ["# größe\n", "x = torch.ones(2).to('cuda')\n", "torch.cuda.synchronize()"],
    ]
    book = {
        "cells": [
            {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": c}
            for c in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    (place / "n.ipynb").write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n")
    (place / "README.md").write_text(
        "Use CUDA:\n\n```python\nimport torch\ntorch.cuda.synchronize()\n```\n\n"
        "or\n\n```python\nimport torch\ntorch.cuda.empty_cache()\n```\n\n"
        ">>> import torch\n>>> torch.cuda.empty_cache()\n"
    )
    return place


@pytest.mark.parametrize(
    "arguments", [[], ["--style", "alias"], ["--target", "accelerator"], ["--annotate"]], ids=str
)
def test_every_kind_of_file_and_a_second_run_changes_nothing(
    project: Path, codemod: Codemod, arguments: list[str]
) -> None:
    kept = (project / "pkg/kept.py").read_bytes()
    first = codemod("--docs", *arguments, ".", engine=REAL)
    assert first.status in (0, 1), first.err
    once = {p: p.read_bytes() for p in project.rglob("*.*") if p.is_file()}
    second = codemod("--docs", *arguments, ".", engine=REAL)
    assert {p: p.read_bytes() for p in project.rglob("*.*") if p.is_file()} == once
    assert second.status == first.status and "rewrote" not in second.err
    assert once[project / "pkg/kept.py"] == kept
    plain, windows = once[project / "pkg/a.py"], once[project / "pkg/win.py"]
    assert windows == b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")
    assert plain != SOURCE.encode() and b'"the file /data/runs/m.pt"' in plain
    ast.parse(plain)
    if "accelerator" not in arguments:
        book = json.loads(once[project / "n.ipynb"])
        code = ["".join(cell["source"]) for cell in book["cells"]]
        assert code[0].startswith("%matplotlib inline\nimport t") and "tdev" in code[0]
        assert "# größe".encode() in once[project / "n.ipynb"]
        # Three examples that each import torch, and each run by itself.
        assert once[project / "README.md"].count(b"import tdev") == 3


def test_the_module_runs_where_torch_is_not_installed(project: Path) -> None:
    hidden = project / "hidden" / "torch"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    path = os.pathsep.join([str(hidden.parent), str(ROOT / "generated"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tdev.codemod", *arguments]
        return subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=120
        )

    assert run("--version").stdout.startswith("tdev codemod ")
    checked = run("--check", "pkg")
    assert checked.returncode == 1 and "pkg/a.py:6:1 " in checked.stdout, checked.stderr
    assert run("pkg/a.py").returncode == 0
    assert "tdev.cuda.synchronize()" in (project / "pkg/a.py").read_text()


def test_a_python_2_file_is_told_in_pythons_words(place: Path, codemod: Codemod) -> None:
    (place / "old.py").write_text("import torch\nprint torch.cuda.is_available()\n")
    ran = codemod("--check", ".", engine=REAL)
    assert ran.status == 2
    assert "old.py: left alone: it is not Python 3 (line 2, column 1: Missing paren" in ran.err
