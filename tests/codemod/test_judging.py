"""Judging what is new alone: lines added since a git ref, and what a baseline does not list."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import BEFORE, Ran

Codemod = Callable[..., Ran]
Git = Callable[..., None]
CALL = b"torch.cuda.synchronize()\n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def past(place: Path, git: Git) -> Path:
    """A repository with one commit, on `main`, whose files use CUDA already."""
    git("init", "-q", "-b", "main")
    (place / "old.py").write_bytes(BEFORE)
    (place / "moved.py").write_bytes(BEFORE + b"# a\n# b\n# c\n# d\n")
    (place / "bad.py").write_bytes(b"print 'torch'\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    return place


def lines(ran: Ran) -> list[str]:
    return [line.rpartition(" `")[0].split(" `")[0] for line in ran.out.splitlines()]


def test_only_added_lines_are_judged(past: Path, codemod: Codemod, git: Git) -> None:
    nothing = codemod("--check", "--since", "HEAD", ".")
    assert (nothing.status, nothing.out) == (0, "")  # nor the file that is no Python 3
    (past / "old.py").write_bytes(b"# above\n" + BEFORE + CALL)
    (past / 'with space "ü".py').write_bytes(BEFORE)
    git("mv", "moved.py", "elsewhere.py")
    with open(past / "elsewhere.py", "ab") as file:
        file.write(CALL)
    ran = codemod("--check", "--since", "HEAD", ".")
    assert ran.status == 1
    assert lines(ran) == [
        "elsewhere.py:8:1 calls",
        "old.py:5:1 calls",
        'with space "ü".py:1:13 imports add',
        'with space "ü".py:3:1 calls',
    ]
    assert "3 files would be rewritten" in ran.err


def test_what_happened_on_the_ref_since_is_not_ours(past: Path, codemod: Codemod, git: Git) -> None:
    git("checkout", "-q", "-b", "feature")
    (past / "new.py").write_bytes(BEFORE)
    git("add", ".")
    git("commit", "-q", "-m", "ours")
    git("checkout", "-q", "main")
    (past / "old.py").write_bytes(b"import torch\n")
    git("commit", "-q", "-a", "-m", "theirs")
    git("checkout", "-q", "feature")
    assert lines(codemod("--check", "--since", "main", ".")) == [
        "new.py:1:13 imports add",
        "new.py:3:1 calls",
    ]


def test_the_users_own_settings_of_git_change_nothing(
    past: Path, codemod: Codemod, git: Git
) -> None:
    for key, value in {
        "diff.noprefix": "true",
        "diff.context": "9",
        "diff.interHunkContext": "9",
        "color.ui": "always",
        "diff.relative": "true",
        "diff.external": "false",
    }.items():
        git("config", key, value)
    body = BEFORE + b"# x\n" * 3 + CALL + b"# x\n"
    (past / "old.py").write_bytes(body)
    git("commit", "-q", "-a", "-m", "second")
    (past / "old.py").write_bytes(b"# first\n" + body + b"# last\n")
    assert codemod("--check", "--since", "HEAD", ".").out == ""
    (past / "sub").mkdir()
    (past / "sub" / "new.py").write_bytes(CALL)
    assert lines(codemod("--check", "--since", "HEAD", "sub")) == ["sub/new.py:1:1 calls"]


@pytest.mark.parametrize("as_list", [True, False])
def test_a_notebooks_lines_are_those_of_its_file(
    past: Path, codemod: Codemod, git: Git, as_list: bool
) -> None:
    def write(*cells: str) -> None:
        data = {
            "nbformat": 4,
            "nbformat_minor": 4,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "code",
                    "source": cell.splitlines(keepends=True) if as_list else cell,
                    "outputs": [],
                    "metadata": {},
                }
                for cell in cells
            ],
        }
        (past / "n.ipynb").write_text(json.dumps(data, indent=1))

    first = "import torch\ntorch.cuda.synchronize()"
    write(first)
    git("add", ".")
    git("commit", "-q", "-m", "notebook")
    write("x = 1", first, "y = 1\ntorch.cuda.synchronize()\n")
    assert lines(codemod("--check", "--since", "HEAD", ".")) == ["n.ipynb:cell 3:2:1 calls"]


def test_before_the_first_commit_everything_is_new(place: Path, codemod: Codemod, git: Git) -> None:
    git("init", "-q")
    (place / "a.py").write_bytes(BEFORE)
    git("add", ".")
    assert codemod("--check", "--since", "HEAD", ".").status == 1


def test_a_ref_that_is_not_there_says_what_to_do(past: Path, codemod: Codemod) -> None:
    for ref in ("origin/main", "--all", ""):
        ran = codemod("--check", f"--since={ref}", ".")
        assert ran.status == 2 and "no such commit" in ran.err and "Traceback" not in ran.err


def test_a_shallow_clone_says_so(
    past: Path, codemod: Codemod, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    (past / "old.py").write_bytes(BEFORE + CALL)
    git("checkout", "-q", "-b", "side")
    git("commit", "-q", "-a", "-m", "second")
    git("checkout", "-q", "main")
    (past / "old.py").write_bytes(BEFORE + b"#\n")
    git("commit", "-q", "-a", "-m", "third")
    url = past.as_uri()
    command = ["git", "clone", "-q", "--depth=1", "--no-single-branch", url, "shallow"]
    subprocess.run(command, check=True, cwd=past)
    monkeypatch.chdir(past / "shallow")
    for ref in ("origin/side", "HEAD~1"):
        ran = codemod("--check", "--since", ref, ".")
        assert ran.status == 2 and "this clone is shallow" in ran.err and "fetch-depth" in ran.err


def test_without_git_it_says_what_else_there_is(
    place: Path, codemod: Codemod, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "a.py").write_bytes(BEFORE)
    outside = codemod("--check", "--since", "HEAD", ".")
    assert outside.status == 2 and "in no git repository" in outside.err
    git("init", "-q")
    monkeypatch.setenv("PATH", str(place))
    gone = codemod("--check", "--since", "HEAD", ".")
    assert gone.status == 2 and "git cannot be run" in gone.err and "--baseline" in gone.err


def test_a_merge_that_is_not_finished_is_judged_as_it_lies_there(
    past: Path, codemod: Codemod, git: Git
) -> None:
    git("checkout", "-q", "-b", "side")
    (past / "old.py").write_bytes(CALL + b"x = 1\n")
    git("commit", "-q", "-a", "-m", "side")
    git("checkout", "-q", "main")
    (past / "old.py").write_bytes(b"x = 2\n")
    git("commit", "-q", "-a", "-m", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git("merge", "-q", "side")
    ran = codemod("--check", "--since", "HEAD", ".")
    assert ran.status == 2 and "old.py: left alone: it is not Python 3" in ran.err


def test_a_baseline_forgives_what_it_lists(place: Path, codemod: Codemod) -> None:
    (place / "a.py").write_bytes(BEFORE + b"import cupy\n")
    wrote = codemod("--check", "--write-baseline", "base.json", ".")
    assert wrote.status == 0 and "3 findings listed" in wrote.err
    same = codemod("--check", "--baseline", "base.json", ".")
    assert (same.status, same.out) == (0, "")
    # Lines may move; the same line once more is a new one.
    (place / "a.py").write_bytes(b"# above\n\n" + BEFORE + CALL + b"import cupy\n")
    ran = codemod("--check", "--baseline", "base.json", ".")
    assert ran.status == 1 and lines(ran) == ["a.py:6:1 calls"]


def test_a_baseline_holds_wherever_the_run_is_started(
    place: Path, codemod: Codemod, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "src").mkdir()
    (place / "src/a.py").write_bytes(BEFORE)
    codemod("--check", "--write-baseline", "base.json", ".")
    monkeypatch.chdir(place / "src")
    assert codemod("--check", "--baseline", "../base.json", ".").status == 0


@pytest.mark.parametrize("raw", ["", "[]", "{}", '{"version": 9, "files": {}}', '{"version": 1}'])
def test_a_file_that_is_no_baseline(place: Path, codemod: Codemod, raw: str) -> None:
    (place / "a.py").write_bytes(BEFORE)
    missing = codemod("--check", "--baseline", "base.json", ".")
    assert missing.status == 2 and "--write-baseline base.json makes it" in missing.err
    (place / "base.json").write_text(raw)
    ran = codemod("--check", "--baseline", "base.json", ".")
    assert ran.status == 2 and "base.json" in ran.err and "Traceback" not in ran.err


def test_judging_is_for_check_alone(past: Path, codemod: Codemod) -> None:
    for arguments in (["--since", "HEAD"], ["--baseline", "b"], ["--write-baseline", "b"]):
        ran = codemod(*arguments, ".")
        assert ran.status == 2 and "goes with --check" in ran.err


def test_annotations_name_file_line_and_rule(place: Path, codemod: Codemod) -> None:
    (place / "a,b.py").write_bytes(BEFORE + b"import cupy  # hint\n")
    ran = codemod("--check", "--format", "github", ".")
    assert ran.status == 1
    assert [line for line in ran.out.splitlines() if "imports" not in line] == [
        "::warning file=a%2Cb.py,line=3,endLine=3,col=1,endColumn=23,title=tdev calls"
        "::`torch.cuda.synchronize` becomes `tdev.cuda.synchronize`",
        "::notice file=a%2Cb.py,line=4,endLine=4,col=1,endColumn=1,title=tdev hint"
        "::`cupy`: left alone on purpose",
        "::error file=a%2Cb.py,line=4,endLine=4,col=8,endColumn=8,title=tdev cupy"
        "::`cupy`: only CUDA has it",
    ]
    both = codemod("--check", "--format", "github", "--report", "json", ".")
    assert both.status == 2 and "--format github" in both.err


def test_the_step_in_the_documentation_runs(past: Path, codemod: Codemod) -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    commands = re.findall(
        r"^(?:python -m tdev\.codemod|.*run: tdev-codemod) (.*?)\s*(?:#.*)?$", text, re.M
    )
    asking = [command for command in commands if "--interactive" in command]
    commands = [command for command in commands if command not in asking]
    assert (len(commands), len(asking)) == (4, 2)
    (past / "new.py").write_bytes(BEFORE)
    for command in commands:
        command = command.replace("origin/${{ github.base_ref }}", "main").replace(
            "origin/main", "main"
        )
        ran = codemod(*command.replace('"', "").split())
        writes = "--write-baseline" in command or "--baseline" in command
        assert ran.status == (2 if writes else 1), (
            command,
            ran,
        )  # bad.py is an error where it is read
    for command in asking:  # tests/codemod/test_interactive.py answers on a terminal
        assert "on a terminal" in codemod("--force", *command.replace("src/", ".").split()).err


REAL = "tdev_core.codemod.engine"
USES = "import torch\n\n\ndef f(x, rank):\n    y = torch.zeros(3)\n    return y, x.cuda()\nz = 1\n"
WAYS = [[], ["--style", "alias"]]


@pytest.mark.parametrize("way", WAYS, ids=["explicit", "alias"])
@pytest.mark.parametrize("kind", ["module", "notebook"])
def test_a_new_use_is_judged_where_the_old_import_would_change(
    place: Path, codemod: Codemod, git: Git, way: list[str], kind: str
) -> None:
    """What rests on the import alone is no edit of its own line, and new all the same."""

    def write(text: str) -> None:
        if kind == "module":
            (place / "a.py").write_text(text)
            return
        source = text.splitlines(keepends=True)
        cell = {"cell_type": "code", "source": source, "outputs": [], "metadata": {}}
        book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
        (place / "a.ipynb").write_text(json.dumps(book, indent=1))

    write(USES)
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert codemod("--check", *way, "--write-baseline", "b.json", ".", engine=REAL).status == 0
    added = 'def g(x):\n    x = x.to("cuda")\n    return 1\n'
    judged = (["--since", "HEAD"], ["--baseline", "b.json"])
    for other in ("# nothing of CUDA's\n", "\n\ndef g(x):\n    return x.to(torch.int8)\n"):
        write(USES + other)
        for one in judged:
            ran = codemod("--check", *way, *one, ".", engine=REAL)
            assert (ran.status, ran.out) == (0, ""), ran
    write(USES + "\n\n" + added)
    for one in judged:
        ran = codemod("--check", *way, *one, ".", engine=REAL)
        [line] = ran.out.splitlines()
        assert ran.status == 1 and "11:9 tdev-import `x.to`: runs on CUDA alone until" in line
    if way:
        write(USES + "\n\ntorch.cuda.empty_cache()\n")
        for one in judged:
            [line] = codemod("--check", *way, *one, ".", engine=REAL).out.splitlines()
            assert "10:1 tdev-import `torch.cuda.empty_cache`" in line


def test_a_new_file_is_told_of_its_import_alone(place: Path, codemod: Codemod) -> None:
    (place / "old.py").write_text(USES)
    codemod("--check", "--style", "alias", "--write-baseline", "b.json", ".", engine=REAL)
    (place / "new.py").write_text(USES)
    ran = codemod("--check", "--style", "alias", "--baseline", "b.json", ".", engine=REAL)
    assert ran.status == 1
    assert [line.split("`")[0] for line in ran.out.splitlines()] == ["new.py:1:8 import "]


def test_a_baseline_of_another_release_says_so(place: Path, codemod: Codemod) -> None:
    (place / "b.json").write_text('{"version": 1, "files": {}}')
    ran = codemod("--check", "--baseline", "b.json", ".")
    assert ran.status == 2 and "another release's" in ran.err
