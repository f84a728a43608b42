"""``python -m generator.upgrade``: what a change of torch means, told from a changed catalog."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.forkserver import python

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the generator reads."""
    for name in ("generator", "templates", "tdev_core"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "catalog.json", tmp_path)
    return tmp_path


@pytest.fixture
def whole_tree(tree: Path) -> Path:
    """A copy of what it writes too."""
    shutil.copytree(ROOT / "generated", tree / "generated")
    return tree


def upgrade(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": ""}
    return python("-m", "generator.upgrade", *arguments, cwd=tree, env=env)


def changed(tree: Path, change: Any) -> str:
    """The catalog as another torch would have given it."""
    path = tree / "catalog.json"
    catalog = json.loads(path.read_text(encoding="utf-8"))
    change(catalog)
    path.write_text(json.dumps(catalog), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def test_nothing_to_tell(tree: Path) -> None:
    done = upgrade(tree, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "Nothing that the mirror shows has changed" in done.stdout


@pytest.mark.slow
def test_names_added_removed_and_changed(whole_tree: Path) -> None:
    tree = whole_tree

    def older(catalog: dict[str, Any]) -> None:
        catalog["torch"] = "2.12.0"
        members = catalog["members"]
        del members["torch.relu"], catalog["modules"]["torch.monitor"]
        members["torch.gone"] = members["torch.sin"]
        catalog["modules"]["torch.old"] = catalog["modules"]["torch.hub"]
        members["torch.cuda.synchronize"]["signatures"][0]["parameters"][0]["name"] = "dev"

    changed(tree, older)
    done = upgrade(tree)
    assert done.returncode == 1, done.stderr
    text = done.stdout
    assert text.startswith("# torch 2.12.0 → 2.13.0")
    for section in (
        "## Names added: 1\n\n- torch.relu\n",
        "## Names removed: 1\n\n- torch.gone\n",
        "## Modules added: 1\n\n- torch.monitor\n",
        "## Modules removed: 1\n\n- torch.old\n",
        "## Wrapped or routed, and changed or gone: 1\n\n- torch.cuda.synchronize\n",
        "## Changed signatures: 1\n\n- torch.cuda.synchronize\n  - was (dev: ",
    ):
        assert section in text, section
    assert "PINNED" in text
    assert json.loads((tree / "catalog.json").read_text())["torch"] == "2.13.0"  # regenerated


def test_names_that_are_only_new_need_nobody_and_a_dry_run_writes_nothing(tree: Path) -> None:
    before = changed(tree, lambda catalog: catalog["members"].pop("torch.relu"))
    done = upgrade(tree, "--dry-run")
    assert done.returncode == 0, done.stdout
    assert "- torch.relu" in done.stdout
    assert (tree / "catalog.json").read_text(encoding="utf-8") == before
    assert not (tree / "generated").exists()


def test_a_route_for_a_name_that_is_gone_needs_a_decision(tree: Path) -> None:
    routes = tree / "generator" / "routes" / "jit.toml"
    routes.write_text(routes.read_text().replace("torch.jit.load", "torch.jit.load_of_old"))
    before = (tree / "catalog.json").read_bytes()
    done = upgrade(tree)
    assert done.returncode == 1, done.stderr
    assert "jit.toml: [jit_load]: torch 2.13.0 has no torch.jit.load_of_old" in done.stdout
    assert "Nothing was written" in done.stdout
    assert (tree / "catalog.json").read_bytes() == before


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 0}'])
def test_a_catalog_that_cannot_be_read(tree: Path, text: str) -> None:
    (tree / "catalog.json").write_text(text)
    done = upgrade(tree)
    assert done.returncode == 2
    assert "catalog.json" in done.stderr and "Traceback" not in done.stderr
