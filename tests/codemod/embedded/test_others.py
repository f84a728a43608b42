"""Files that are no Python and say CUDA: listed apart, never rewritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.embedded.others import look
from tests.codemod.conftest import BEFORE, Ran

Codemod = Callable[..., Ran]


@pytest.mark.parametrize(
    ("row", "place", "name", "word"),
    [
        ("device: cuda", "1:9", "cuda", "works as it is"),
        ("  device: 'cuda:1'  # first", "1:11", "'cuda:1'", "works as it is"),
        ('{"device": "cuda", "x": 1}', "1:12", '"cuda"', "works as it is"),
        ("  - cuda", "1:5", "cuda", "works as it is"),
        ("python train.py --device=cuda", "1:26", "cuda", "works as it is"),
        ("accelerator: gpu", "1:1", "accelerator: gpu", "Lightning"),
        ("export CUDA_VISIBLE_DEVICES=0,1", "1:8", "CUDA_VISIBLE_DEVICES", "CUDA alone"),
        ("FROM nvidia/cuda:12.4.1-runtime", "1:6", "nvidia/cuda:12.4.1-runtime", "image"),
        ("docker run --gpus all x", "1:12", "--gpus", "NVIDIA GPUs"),
        ("    torch.cuda.synchronize()", "1:5", "torch.cuda.synchronize", "by hand"),
        ("\tnvidia-smi -L", "1:2", "nvidia-smi", "tool"),
        ("ENV NVIDIA_VISIBLE_DEVICES=all", "1:5", "NVIDIA_VISIBLE_DEVICES", "CUDA alone"),
        (
            "pip install torch --index-url https://download.pytorch.org/whl/cu121",
            "1:39",
            "download.pytorch.org/whl/cu121",
            "built for CUDA",
        ),
        ("  - pytorch-cuda=12.1", "1:5", "pytorch-cuda", "built for CUDA"),
        ("RUN pip install cupy-cuda12x", "1:17", "cupy-cuda12x", "built for CUDA"),
    ],
)
def test_each_way_to_say_it(row: str, place: str, name: str, word: str) -> None:
    [remark] = look(row.encode()).remarks
    assert (str(remark.place), remark.name, remark.severity) == (place, name, "note")
    assert word in remark.message


@pytest.mark.parametrize(
    "row",
    [
        "# device: cuda",
        "name: barracuda",
        "description: Runs on cuda devices, mostly",
        "accelerator: auto",
        "url: https://example.org/cuda/x",
        "pip install torch --index-url https://download.pytorch.org/whl/cpu",
        "device: cpu",
        "\0 device: cuda",
    ],
)
def test_what_says_nothing_of_the_kind(row: str) -> None:
    assert look(row.encode()).remarks == ()


@pytest.fixture
def tree(place: Path) -> Path:
    (place / "a.py").write_bytes(BEFORE)
    (place / "conf.yaml").write_text("device: cuda\nlr: 0.1\n")
    (place / "Dockerfile.train").write_text("FROM nvidia/cuda:12.4.1\nRUN nvcc --version\n")
    (place / "Makefile").write_text("all:\n\techo hello\n")
    (place / "notes.txt").write_text("device: cuda\n")
    (place / "fast.pyx").write_text("cdef int x = 1\n")
    (place / "data.json").write_text('["cuda", "' + "x" * 300_000 + '"]')
    return place


@pytest.mark.parametrize(
    "name", ["job.slurm", "x.zsh", "x.sbatch", "train.dockerfile", "setup.cfg", "a.ini", "b.mk"]
)
def test_scripts_images_and_settings_by_their_names(
    place: Path, codemod: Codemod, name: str
) -> None:
    (place / name).write_text("export CUDA_VISIBLE_DEVICES=0\n")
    ran = codemod("--check", ".")
    assert ran.out.startswith(f"{name}:1:8 other-file ")
    assert "1 place in 1 other file says CUDA and is left as it is." in ran.err


def test_they_are_listed_apart_and_left(tree: Path, codemod: Codemod) -> None:
    before = (tree / "conf.yaml").read_bytes()
    ran = codemod("--check", ".")
    assert [line.split(" ")[0] for line in ran.out.splitlines()] == [
        "a.py:1:13",
        "a.py:3:1",
        "Dockerfile.train:1:6",
        "Dockerfile.train:2:5",
        "conf.yaml:1:9",
    ]
    assert "1 file would be rewritten. 3 places in 2 other files say CUDA" in ran.err
    assert codemod(".").status == 0 and codemod("--check", ".").status == 0
    assert (tree / "conf.yaml").read_bytes() == before


def test_json_says_which_they_are(tree: Path, codemod: Codemod) -> None:
    data = json.loads(codemod("--check", "--report", "json", ".").out)
    assert data["other"] == {"files": 2, "places": 3} and data["files"]["changed"] == 1
    assert [r["path"] for r in data["results"] if r["other"]] == ["Dockerfile.train", "conf.yaml"]


def test_git_may_have_changes_in_them(
    tree: Path, codemod: Codemod, git: Callable[..., None]
) -> None:
    git("init", "-q")
    git("add", "a.py")
    git("commit", "-q", "-m", "first")
    assert codemod(".").status == 0


def test_since_judges_their_lines_as_well(
    tree: Path, codemod: Codemod, git: Callable[..., None]
) -> None:
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (tree / "conf.yaml").write_text("device: cuda\nother: cuda\n")
    ran = codemod("--check", "--since", "HEAD", ".")
    assert [line.split(" ")[0] for line in ran.out.splitlines()] == ["conf.yaml:2:8"]
    assert ran.status == 0
