"""Projects that would stay CUDA's for the most part are left as they are; all others are migrated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import Ran

Codemod = Callable[..., Ran]
REAL = "tdev_core.codemod.engine"
SEED = b"import torch\n\ntorch.cuda.synchronize()\n"
PYPROJECT = b'[project]\nname = "kernels"\n'


def project(root: Path, stays: int, *, metadata: str = "pyproject.toml") -> Path:
    """A project of one file that changes in two places (small engine), and so many that stay."""
    package = root / "kernels"
    package.mkdir(parents=True)
    if metadata:
        (root / metadata).write_bytes(PYPROJECT if metadata.endswith("toml") else b"")
    (package / "__init__.py").write_bytes(b"")
    (package / "seeds.py").write_bytes(SEED)
    for number in range(stays):
        (package / f"k{number}.py").write_bytes(b"import cupy  # for torch\n")
    return package / "seeds.py"


@pytest.mark.parametrize("metadata", ["pyproject.toml", "setup.py", "PKG-INFO"])
def test_a_project_that_would_stay_cudas_is_left_and_says_so(
    place: Path, codemod: Codemod, metadata: str
) -> None:
    seeds = project(place, 5, metadata=metadata)
    ran = codemod(".")
    assert ran.status == 1 and seeds.read_bytes() == SEED
    assert "kernels/seeds.py:3:1 calls `torch.cuda.synchronize` becomes `tdev" in ran.out
    assert " with --partial" in ran.out
    said = f"{place.name} is left as it is: 5 of the 7 places in it that name CUDA stay CUDA's"
    assert said in ran.err and "(--partial rewrites the other 2)" in ran.err
    assert codemod(".") == ran, "a second run tells the same"


def test_what_stays_in_any_project_leaves_none(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 4)
    assert codemod(".").status == 1
    assert b"tdev" in seeds.read_bytes()


def test_loose_files_are_no_project(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 9, metadata="")
    (place / "pyproject.toml").write_bytes(b"[tool.ruff]\n")
    codemod(".")
    assert b"tdev" in seeds.read_bytes()


def test_partial_rewrites_it_and_what_is_new_later_as_well(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 9)
    codemod("--partial", ".")
    assert b"tdev" in seeds.read_bytes()
    more = seeds.with_name("more.py")
    more.write_bytes(SEED)
    ran = codemod(".")
    assert b"tdev" in more.read_bytes() and "left as it is" not in ran.err, "it has decided"


def test_partial_is_a_setting_too(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 9)
    (place / "pyproject.toml").write_bytes(PYPROJECT + b"[tool.tdev]\npartial = true\n")
    codemod(".")
    assert b"tdev" in seeds.read_bytes()


def test_a_file_that_is_named_is_rewritten(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 9)
    codemod("kernels/seeds.py")
    assert b"tdev" in seeds.read_bytes()


def test_of_several_projects_each_is_judged_by_itself(place: Path, codemod: Codemod) -> None:
    left, done = project(place / "a", 9), project(place / "b", 0)
    loose = place / "train.py"
    loose.write_bytes(SEED)
    ran = codemod(".")
    assert left.read_bytes() == SEED
    assert b"tdev" in done.read_bytes() and b"tdev" in loose.read_bytes()
    assert "a is left as it is" in ran.err and "b is left" not in ran.err


def test_check_and_reports_tell_every_place_of_it(place: Path, codemod: Codemod) -> None:
    project(place, 9)
    ran = codemod("--check", "--report", "json", ".")
    told = json.loads(ran.out)
    assert ran.status == 1 and told["files"]["changed"] == 0
    [seeds] = [r for r in told["results"] if r["path"].endswith("seeds.py")]
    assert seeds["message"].startswith(f"{place.name} is left as it is")
    assert [f["severity"] for f in seeds["findings"]] == ["warning", "warning"]
    assert "is left as it is" in codemod("--check", "--report", "markdown", ".").out


def test_a_baseline_of_it_holds_once_it_is_migrated(place: Path, codemod: Codemod) -> None:
    project(place, 9)
    assert codemod("--check", "--write-baseline", "known.json", ".").status == 0
    assert codemod("--check", "--baseline", "known.json", ".").status == 0
    assert codemod("--check", "--baseline", "known.json", "--partial", ".").status == 0


def test_moves_that_only_an_import_would_answer_are_told(place: Path, codemod: Codemod) -> None:
    """`x.cuda()` itself changes nowhere: what makes it run is an import, which such a project does not get."""
    seeds = project(place, 0)
    kernel = b"import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x):\n    pass\n"
    for number in range(5):
        seeds.with_name(f"k{number}.py").write_bytes(kernel)
    seeds.write_bytes(b"import torch\n\n\ndef move(x: torch.Tensor):\n    return x.cuda()\n")
    (seeds.parent / "seed.py").write_bytes(b"import torch\n\ntorch.cuda.manual_seed(0)\n")
    ran = codemod("--verbose", ".", engine=REAL)
    assert "seeds.py:5:12 tdev-import" in ran.out
    assert b"tdev" not in seeds.read_bytes()
