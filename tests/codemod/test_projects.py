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


def test_what_makes_no_difference_does_not_count(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 0)
    for number in range(9):
        spread = b"import torch\n\n\ndef several():\n    return torch.cuda.device_count() > 1\n"
        (seeds.parent / f"s{number}.py").write_bytes(spread)
    ran = codemod("--verbose", ".", engine=REAL)
    assert ran.out.count("no-difference torch.cuda.device_count decides nothing") == 9
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


MOVES = b"import torch\n\n\ndef move(x: torch.Tensor):\n    return x.cuda() + x.cuda() + x.cuda() + x.cuda()\n"


def test_what_an_import_answers_counts_as_changed(place: Path, codemod: Codemod) -> None:
    """A package of moves is not left because of the one line in it that changes by itself."""
    seeds = project(place, 0)
    for number in range(5):
        seeds.with_name(f"k{number}.py").write_bytes(b"import cupy\n\ncupy.ones(3)\n")
        seeds.with_name(f"m{number}.py").write_bytes(MOVES)
    ran = codemod(".", engine=REAL)
    assert "left as it is:" not in ran.err
    assert b"import tdev" in seeds.with_name("m0.py").read_bytes()


def test_a_file_that_is_named_beside_a_directory_is_rewritten(
    place: Path, codemod: Codemod
) -> None:
    seeds = project(place, 9)
    (place / "train.py").write_bytes(SEED)
    ran = codemod("train.py", "kernels")
    assert b"tdev" in (place / "train.py").read_bytes() and seeds.read_bytes() == SEED
    assert "9 of the 11 places looked at that name CUDA stay" in ran.err


def test_a_notebook_that_imports_tdev_has_decided_for_its_project(
    place: Path, codemod: Codemod
) -> None:
    seeds = project(place, 9)
    rows = ["import tdev\n", "import torch\n", "torch.cuda.synchronize()"]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": rows}]
    data = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (place / "first.ipynb").write_text(json.dumps(data, indent=1))
    codemod(".")
    assert b"tdev" in seeds.read_bytes()


def test_projects_of_one_name_are_told_apart_and_other_messages_are_none(
    place: Path, codemod: Codemod
) -> None:
    project(place / "a" / "core", 9), project(place / "b" / "core", 9)
    julia = {"cells": [], "metadata": {"language_info": {"name": "julia"}}, "nbformat": 4}
    (place / "j.ipynb").write_text(json.dumps(julia | {"nbformat_minor": 5, "torch": 1}))
    ran = codemod(".")
    for name in ("a", "b"):
        assert f"{Path(name) / 'core'} is left as it is" in ran.err
    assert "julia" not in ran.err


def test_its_documents_are_left_with_it(place: Path, codemod: Codemod) -> None:
    project(place, 9)
    page = place / "README.md"
    page.write_text("```python\nimport torch\ntorch.cuda.synchronize()\n```\n")
    codemod("--docs", ".")
    assert "tdev" not in page.read_text()


def test_setup_cfg_describes_a_project_by_its_metadata(place: Path, codemod: Codemod) -> None:
    settings, described = (project(place / name, 9, metadata="") for name in ("a", "b"))
    (place / "a" / "setup.cfg").write_text("[flake8]\nmax-line-length = 100\n")
    (place / "b" / "setup.cfg").write_text("[metadata]\nname = kernels\n")
    codemod(".")
    assert b"tdev" in settings.read_bytes() and described.read_bytes() == SEED


def test_a_notebook_of_it_need_not_install_tdev(place: Path, codemod: Codemod) -> None:
    seeds = project(place, 0)
    for number in range(9):
        seeds.with_name(f"k{number}.py").write_bytes(b"import cupy\n\ncupy.ones(3)\n")
    rows = ["%pip install timm\n", "import torch\n", "torch.cuda.manual_seed(0)"]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": rows}]
    data = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (place / "first.ipynb").write_text(json.dumps(data))
    ran = codemod("--verbose", ".", engine=REAL)
    assert "left as it is: 9" in ran.err and "install that there" not in ran.out
