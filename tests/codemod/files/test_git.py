"""What git is asked about a repository makes it run nothing that the repository names."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tdev_core.codemod.files.git import uncommitted

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("a.py", "b.py"):
        (folder / name).write_text("x = 1\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
    return folder


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)


def test_changed_files_are_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    files = [repository / "a.py", repository / "b.py"]
    assert uncommitted(files, [repository]) == []
    (repository / "b.py").write_text("x = 2\n")
    assert uncommitted(files, [repository]) == ["b.py"]


@pytest.mark.parametrize("name", ["x", "a=b", "a.b"])
def test_programs_of_the_repository_are_not_run(
    repository: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who unpacks an archive has its ``.git/config``, which no clone brings along."""
    monkeypatch.chdir(repository)
    ran = tmp_path / "ran"
    program = f"echo run >> {shlex.quote(str(ran))}; cat"
    (repository / ".gitattributes").write_text(f"*.py filter={name}\n")
    for kind in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.{name}.{kind}", program)
    git(repository, "config", f"filter.{name}.required", "true")
    git(repository, "config", "core.fsmonitor", program)
    (repository / "b.py").write_text("x = 2\n")
    os.utime(repository / "a.py", (0, 0))
    files = [repository / "a.py", repository / "b.py"]
    assert [f for f in uncommitted(files, [repository]) if f.endswith(".py")] == ["b.py"]
    assert not ran.exists()


def test_filters_of_the_user_stay(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git-lfs keeps another text in the repository than in the file; without it, everything would look changed."""
    monkeypatch.chdir(repository)
    mine = tmp_path / "gitconfig"
    mine.write_text('[filter "upper"]\n\tclean = tr x y\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    (repository / ".gitattributes").write_text("a.py filter=upper\n")
    os.utime(repository / "a.py", (0, 0))
    assert "a.py" in uncommitted([repository / "a.py"], [repository])
