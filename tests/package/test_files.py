"""The wheel holds the two packages and nothing else; the sdist holds all that it takes to rebuild."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tarfile
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from generator.facts.pin import PINNED
from tests.package.conftest import build

ROOT = Path(__file__).resolve().parents[2]
COMPILED = (".so", ".pyd")  # what an editable installation leaves beside the sources

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CC", "cc")) is None and os.name != "nt",
    reason="there is no C compiler",
)


def sources(folder: Path) -> set[str]:
    """The files of a package in the working tree, relative to the folder above it."""
    return {
        p.relative_to(folder.parent).as_posix()
        for p in folder.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.suffix not in COMPILED
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
    plain = {name for name in in_wheel if Path(name).suffix not in COMPILED}
    made_from = [ROOT / "catalog.json", *ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    made_from += [page for page in (ROOT / "docs").rglob("*") if page.is_file()]
    pages = {f"tdev_core/site/sources/{p.relative_to(ROOT).as_posix()}" for p in made_from}
    assert plain == sources(ROOT / "generated" / "tdev") | sources(ROOT / "tdev_core") | pages


@pytest.mark.parametrize("package", ["tdev", "tdev_core"])
def test_both_packages_are_typed(in_wheel: set[str], package: str) -> None:
    assert f"{package}/py.typed" in in_wheel
    assert f"{package}/__init__.py" in in_wheel


def test_environments_hold_the_torch_that_is_mirrored() -> None:
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.findall(r"^torch==(.+)$", constraints, flags=re.M) == [PINNED]


@needs_compiler
def test_the_wheel_holds_the_module_in_c_for_this_python(wheel: Path, in_wheel: set[str]) -> None:
    compiled = [name for name in in_wheel if Path(name).suffix in COMPILED]
    assert compiled == [f"tdev_core/shims/_calls{EXTENSION_SUFFIXES[0]}"]
    assert f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in wheel.name
    assert "none-any" not in wheel.name


@pytest.mark.parametrize(
    "environment",
    [{"TDEV_PURE": "1"}, {"CC": "false", "CXX": "false", "LDSHARED": "false"}],
    ids=["asked for", "no compiler"],
)
def test_the_wheel_is_pure(environment: dict[str, str], tmp_path: Path) -> None:
    if "CC" in environment and os.name == "nt":
        pytest.skip("there CC does not name the compiler")
    build(tmp_path, "--wheel", **environment)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if Path(name).suffix in COMPILED]


@pytest.mark.parametrize(
    "folder", ["generated/tdev", "tdev_core", "generator", "templates", "tests"]
)
def test_the_sdist_holds_the_sources(in_sdist: set[str], folder: str) -> None:
    wanted = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / folder).rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.suffix not in COMPILED
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
    # Whoever has a torch keeps it, and whoever needs none (the codemod) gets none.
    assert {re.split(r"[<>=!~ \[]", r)[0] for r in required} == {"psutil"}
    assert re.findall(r"^Requires-Python: (.+)$", metadata, flags=re.M) == [">=3.10"]
    extras = re.findall(r"^Provides-Extra: (.+)$", metadata, flags=re.M)
    assert sorted(extras) == ["codemod", "dev", "mlx", "plot", "site", "torch"]
    assert re.findall(r"^Requires-Dist: mlx\[cpu\].*linux.*$", metadata, flags=re.M)


def test_the_command_that_the_hooks_call(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt"))
        text = archive.read(name).decode()
    assert "tdev-codemod = tdev_core.codemod.cli:main" in text
    assert "tdev = tdev.__main__:main" in text
