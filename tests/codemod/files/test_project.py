"""What a project says of itself that decides about torch's generic names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.codemod.cli import main
from tdev_core.codemod.files.project import (
    is_type_checked,
    names_torch_alone,
    refused_torch,
    torch_floor,
)


@pytest.mark.parametrize(
    "name, text, floor",
    [
        ("pyproject.toml", '[project]\ndependencies = ["numpy", "torch>=2.2"]\n', (2, 2)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.0.1"\n', (2, 0)),
        ("pyproject.toml", '[project]\ndependencies = ["torchvision>=0.15", "torch"]\n', None),
        ("setup.py", "setup(install_requires=['torch >= 1.8', 'scipy'])\n", (1, 8)),
        ("requirements.txt", "numpy\ntorch==2.9.1\n", (2, 9)),
        ("PKG-INFO", "Requires-Dist: torch (>=1.13)\n", (1, 13)),
        ("PKG-INFO", "Requires-Dist: pytorch-lightning>=2.0\n", None),
    ],
)
def test_oldest_torch(tmp_path: Path, name: str, text: str, floor: tuple[int, int] | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    assert torch_floor(tmp_path / "pkg") == (None if floor is None else (floor, name))


@pytest.mark.parametrize(
    "name, text, checked",
    [
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", True),
        ("pyproject.toml", "[tool.black]\n", False),
        ("setup.cfg", "[mypy]\nstrict = True\n", True),
        ("setup.cfg", "[flake8]\n", False),
        ("pyrightconfig.json", "{}", True),
    ],
)
def test_type_checked(tmp_path: Path, name: str, text: str, checked: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    assert is_type_checked(tmp_path / "pkg") == checked


CHOICE = 'import torch\n\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nx = torch.zeros(2, device=device)\n'
CLEARS = "import torch\n\nif torch.cuda.is_available():\n    torch.cuda.synchronize()\n    torch.cuda.empty_cache()\n"


@pytest.mark.parametrize(
    "source, project, said",
    [
        (CHOICE, "", ""),
        (CHOICE, "[tool.mypy]\n", "a type checker knows that it may be None"),
        (CLEARS, "", ""),
        (CLEARS, '[project]\ndependencies = ["torch>=2.6"]\n', "needs torch 2.9"),
        (CLEARS, '[project]\ndependencies = ["torch>=2.9"]\n', ""),
        (CHOICE, '[project]\ndependencies = ["torch>=2.0"]\n', "pyproject.toml takes torch 2.0"),
    ],
)
def test_what_the_accelerator_target_makes_of_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str, project: str, said: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "train.py").write_text(source)
    main(["--target", "accelerator", "--force", str(tmp_path / "train.py")])
    out, err = capfd.readouterr()
    assert said in out + err
    stays = bool(said) and "takes torch 2.0" not in said
    assert ((tmp_path / "train.py").read_text() == source) == stays
    assert ("raise that too" in err) == ("takes torch 2.0" in said)


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        ("pyproject.toml", '[project]\ndependencies = [\n  "numpy",\n  "torch>=2.2",\n]\n', 4),
        ("pyproject.toml", '[project]\nkeywords = ["torch"]\ndependencies = ["torch"]\n', 3),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.0.1"\n', 2),
        ("setup.py", "setup(\n    install_requires=['torch', 'scipy'],\n)\n", 2),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch[opt]>=2\n", 4),
        ("requirements.txt", "numpy\ntorch\n", 2),
        ("requirements.txt", "torchvision\npytorch-lightning\n", None),
        ("pyproject.toml", '[project]\nkeywords = [\n  "torch",\n]\n', None),
        ("pyproject.toml", '[project]\ndependencies = ["torch", "tdev>=1"]\n', None),
        ("pyproject.toml", '[project.optional-dependencies]\ntrain = ["torch"]\n', 2),
        ("pyproject.toml", '[build-system]\nrequires = ["torch"]\n', None),
        ("pyproject.toml", '[[tool.mypy.overrides]]\nmodule = ["torch"]\n', None),
        ("setup.cfg", "[options.extras_require]\ntrain =\n    torch\n", 3),
    ],
)
def test_a_requirement_of_torch_alone(
    tmp_path: Path, name: str, text: str, row: int | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "pkg").mkdir()
    place = None if row is None else f"{tmp_path / name}:{row}"
    assert names_torch_alone(tmp_path / "pkg") == (place, None)


@pytest.mark.parametrize(
    ("requirement", "refused"),
    [
        ("torch==0.4.0", True),
        ("torch==1.13.1+cu117", True),
        ("torch~=2.1.0", True),
        ("torch>=1.8, <2.11", True),
        ("torch (<=1.9)", True),
        ("torch>=1.8,<2", True),
        ("torch==1.13.*", True),
        ("torch", False),
        ("torch==2.*", False),
        ("torch>=1.8", False),
        ("torch~=2.1", False),
        ("torch>=2.0,<3.0", False),
        ("torch<2.12", False),
        ("torch==2.11.0", False),
        ("torch!=1.12.0", False),
        ("torchvision==0.2.1", False),
    ],
)
def test_a_requirement_of_a_torch_too_old_for_tdev(
    tmp_path: Path, requirement: str, refused: bool
) -> None:
    (tmp_path / "requirements.txt").write_text(f"numpy<2.0\n{requirement}\n")
    assert bool(refused_torch(f"{tmp_path / 'requirements.txt'}:2")) is refused


def test_long_lists_are_read_in_time(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    rows = "".join('    "torch",\n' for _ in range(40_000))
    (tmp_path / "pyproject.toml").write_text(f"[project]\nkeywords = [\n{rows}]\n")
    assert names_torch_alone(tmp_path) == (None, None)


@pytest.mark.parametrize(
    ("source", "project", "said"),
    [
        (CHOICE, '[project]\ndependencies = ["torch"]\n', "pyproject.toml:2 requires torch"),
        (
            CHOICE,
            '[project]\ndependencies = ["torch>=0.4,<1.9"]\n',
            "pyproject.toml:2 requires torch>=0.4,<1.9; what is rewritten imports tdev, which needs torch 2.11 or newer",
        ),
        (CHOICE, "[tool.isort]\nknown_deep = ['torch']\n", "pyproject.toml:2 names torch to sort"),
        (CHOICE, "[tool.isort]\nknown_deep = ['tdev', 'torch']\n", ""),
        ("x = 1\n", '[project]\ndependencies = ["torch"]\n', ""),
    ],
)
def test_a_rewritten_project_is_told_what_has_to_name_tdev(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    source: str,
    project: str,
    said: str,
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "train.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    main(["--force", "--diff", "train.py"])
    main(["--force", "train.py"])
    err = capfd.readouterr().err
    assert err.count(f"\n{said}") == 2 if said else "too." not in err
    main(["--force", str(tmp_path / "train.py")])
    assert "too." not in capfd.readouterr().err
