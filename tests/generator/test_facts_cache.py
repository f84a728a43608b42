"""The cache answers faster and never differently."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import pkgutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from generator import facts
from generator.facts import FactsError, cache, introspect, pin
from generator.facts.model import (
    Facts,
    Member,
    Method,
    Module,
    Operator,
    Parameter,
    Signature,
)

SIGNATURE = Signature((Parameter("x", "keyword_only", "1e-5", "float", "1e-5"),), "torch.Tensor")
FACTS = Facts(
    torch="2.13.0",
    modules=(
        Module("torch.a", "Text.", True, ("f",), True, ("f", "g"), (("F", "torch.b"),), ("g",)),
    ),
    members=(
        Member("torch.a.f", "function", (SIGNATURE,), "live", "é", None, ("torch.a.f",), "torch.a"),
    ),
    methods=(
        Method("torch.C", "to", "method", (SIGNATURE,), "stub", ("torch.C",), ("device",), ("x",)),
    ),
    operators=(Operator("add", "out", {"CPU": "k"}, None, "add.x", ("core",)),),
    skipped=(("torch.b", "needs the optional package b"),),
    differences=("One.",),
)


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "facts-1.json"
    cache.store(path, FACTS)
    assert cache.load(path) == FACTS


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("1e-5", "1e-4"),
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "{}",
    ],
    ids=["edited", "cut", "empty", "other"],
)
def test_a_damaged_file_is_not_believed(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "facts-1.json"
    cache.store(path, FACTS)
    assert callable(damage)
    path.write_text(damage(path.read_text()))
    assert cache.load(path) is None


def test_a_file_of_another_shape_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "facts-1.json"
    cache.store(path, FACTS)
    body = json.loads(path.read_text().partition("\n")[2])
    del body["members"][0]["kind"]
    text = json.dumps(body)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(f"{digest}\n{text}")
    assert cache.load(path) is None


def test_old_files_go(tmp_path: Path) -> None:
    for number in range(7):
        cache.store(tmp_path / f"{number}.facts.json", FACTS)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache.store(blocked / "facts-1.json", FACTS)
    assert cache.load(blocked / "facts-1.json") is None


def test_the_key_follows_files_of_torch_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cache.key()
    assert cache.key() == first
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    second = cache.key()
    assert second != first
    monkeypatch.setattr(cache, "_tree", lambda root: iter([f"{root.name}/new.py 1 2"]))
    assert cache.key() not in (first, second)


def test_a_file_that_changes_in_a_package_changes_what_is_hashed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "readme.txt").write_text("no matter")
    before = list(cache._tree(tmp_path))
    assert len(before) == 1
    (tmp_path / "a.py").write_text("x = 10\n")
    assert list(cache._tree(tmp_path)) != before


def test_introspect_reads_the_cache_before_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDEV_CACHE_DIR", str(tmp_path))
    known = replace(FACTS, differences=("from the cache",))
    cache.store(tmp_path / "generator" / f"{cache.key()}.facts.json", known)
    assert introspect(allow_version=True) == known


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.13.0+cpu", "2.13.0"), ("2.13.0", "2.13.0"), ("2.9.1+cu1", "2.9.1")],
)
def test_a_local_suffix_is_no_part_of_a_release(version: str, expected: str) -> None:
    assert pin.normalise(version) == expected


def test_another_torch_is_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.12.1+cu128")
    with pytest.raises(FactsError, match=r"torch 2\.12\.1 is installed.*--allow-version"):
        pin.check_pinned()
    assert pin.check_pinned(allow_version=True) == "2.12.1"


def run_without_torch(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import importlib.metadata as m, runpy, sys\n"
        "real = m.version\n"
        "def version(name):\n"
        "    if name == 'torch': raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
        "sys.argv = ['generator.facts']\n"
        "runpy.run_module('generator.facts', run_name='__main__')\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(cache.__file__).parents[2],
        timeout=120,
    )


def test_the_command_without_torch_is_one_paragraph_and_status_2(tmp_path: Path) -> None:
    done = run_without_torch(tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: torch is not installed")
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    assert f'"torch=={pin.PINNED}"' in done.stderr


def test_no_module_that_is_read_later_hides_a_function_of_the_package() -> None:
    """A torch that is not remembered is read by modules that nothing else imports."""
    for module in pkgutil.iter_modules(facts.__path__):
        if module.name != "__main__":
            importlib.import_module(f"generator.facts.{module.name}")
    hidden = [name for name in facts.__all__ if isinstance(getattr(facts, name), ModuleType)]
    assert not hidden
