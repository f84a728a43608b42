"""The wheel holds the two packages and nothing else; the sdist holds all that it takes to rebuild."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from generator.facts.pin import PINNED

ROOT = Path(__file__).resolve().parents[2]


def sources(folder: Path) -> set[str]:
    """The files of a package in the working tree, relative to the folder above it."""
    return {
        p.relative_to(folder.parent).as_posix()
        for p in folder.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }


@pytest.fixture(scope="module")
def in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {n for n in archive.namelist() if ".dist-info/" not in n}


@pytest.fixture(scope="module")
def in_sdist(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {n.split("/", 1)[1] for n in archive.getnames() if "/" in n}


def test_the_wheel_is_the_two_packages_whole(in_wheel: set[str]) -> None:
    assert in_wheel == sources(ROOT / "generated" / "tdev") | sources(ROOT / "tdev_core")


@pytest.mark.parametrize("package", ["tdev", "tdev_core"])
def test_both_packages_are_typed(in_wheel: set[str], package: str) -> None:
    assert f"{package}/py.typed" in in_wheel
    assert f"{package}/__init__.py" in in_wheel


def test_environments_hold_the_torch_that_is_mirrored() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.findall(r"^torch==(.+)$", constraints, flags=re.M) == [PINNED]


def test_the_wheel_is_pure(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.parametrize(
    "folder", ["generated/tdev", "tdev_core", "generator", "templates", "tests"]
)
def test_the_sdist_holds_the_sources(in_sdist: set[str], folder: str) -> None:
    wanted = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / folder).rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert wanted
    assert wanted <= in_sdist


def test_the_sdist_holds_what_the_readme_runs(in_sdist: set[str]) -> None:
    for name in ("tools/try_it.py", "tools/run_tests.py", "examples/data/genesis.txt"):
        assert name in in_sdist
    for name in ("catalog.json", "constraints.txt", "noxfile.py", "README.md", "LICENSE"):
        assert name in in_sdist


def test_what_the_wheel_requires(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    required = set(re.findall(r"^Requires-Dist: ([^;\n]+)$", metadata, flags=re.M))
    assert {re.split(r"[<>=!~ \[]", r)[0] for r in required} == {"torch", "psutil"}
    assert re.findall(r"^Requires-Python: (.+)$", metadata, flags=re.M) == ["<3.14,>=3.10"]
    extras = re.findall(r"^Provides-Extra: (.+)$", metadata, flags=re.M)
    assert sorted(extras) == ["codemod", "dev", "mlx"]
    assert re.findall(r"^Requires-Dist: mlx\[cpu\].*linux.*$", metadata, flags=re.M)


def test_the_command_that_the_hooks_call(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt"))
        text = archive.read(name).decode()
    assert "tdev-codemod = tdev_core.codemod.cli:main" in text
