"""The command line: what is written, what is said where, and the exit status."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tdev_core.codemod.output.diff import unified
from tests.codemod.conftest import AFTER, BEFORE, Ran

Codemod = Callable[..., Ran]


def write(place: Path, **files: bytes) -> None:
    for name, raw in files.items():
        (place / f"{name}.py").write_bytes(raw)


def test_a_run_rewrites_and_a_second_one_finds_nothing(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE, b=b"x = 1\n")
    first = codemod(".")
    assert (first.status, first.out) == (0, "")
    assert "rewrote a.py" in first.err and "1 file rewritten, 1 file unchanged." in first.err
    assert (place / "a.py").read_bytes() == AFTER
    stat = (place / "a.py").stat()
    second = codemod(".")
    assert second.status == 0 and "2 files unchanged." in second.err
    assert (place / "a.py").stat() == stat


def test_check_names_each_use_and_writes_nothing(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE, b=b"import torch, cupy\n")
    ran = codemod("--check", ".")
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "a.py:1:13 imports add `import tdev`",
        "a.py:3:1 calls `torch.cuda.synchronize` becomes `tdev.cuda.synchronize`",
        "b.py:1:15 cupy `cupy`: only CUDA has it",
    ]
    assert (place / "a.py").read_bytes() == BEFORE


def test_the_diff_is_a_patch(place: Path, codemod: Codemod, git: Callable[..., None]) -> None:
    old = {
        "plain": BEFORE,
        "crlf": BEFORE.replace(b"\n", b"\r\n"),
        "no end": b"import torch\n\ntorch.cuda.synchronize()",
        "größe": "# coding: latin-1\n# ü\ntorch.cuda.synchronize()\n".encode("latin-1"),
    }
    for name, raw in old.items():
        (place / f"{name}.py").write_bytes(raw)
    (place / "x.py").write_bytes(b"import torch\nimport cupy\n")
    with open(place / "patch", "wb") as file:
        command = [sys.executable, "-c", _MAIN, "--diff", "--quiet", "."]
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=_environment())
    assert done.returncode == 1
    assert b"x.py:2:8 cupy" in done.stderr  # a patch holds no findings
    assert (place / "plain.py").read_bytes() == BEFORE
    git("apply", "-p1", "patch")
    patched = {name: (place / f"{name}.py").read_bytes() for name in old}
    for name, raw in old.items():
        (place / f"{name}.py").write_bytes(raw)
    assert codemod(".").status == 1  # the finding
    assert {name: (place / f"{name}.py").read_bytes() for name in old} == patched
    assert patched["plain"] == AFTER and patched["no end"].endswith(b"()")


def test_a_name_with_spaces_ends_in_a_tab_as_git_has_it() -> None:
    diff = unified("a b.py", b"1\n2", b"1\n3\n")
    assert diff == (
        b"--- a/a b.py\t\n+++ b/a b.py\t\n@@ -1,2 +1,2 @@\n 1\n"
        b"-2\n\\ No newline at end of file\n+3\n"
    )
    assert unified("/x/a.py", b"", b"1\n").startswith(b"--- a/x/a.py\n+++ b/x/a.py\n")


def test_a_finding_is_status_1_and_stays_named_after_the_rewrite(
    place: Path, codemod: Codemod
) -> None:
    write(place, a=BEFORE + b"import cupy\n")
    ran = codemod("a.py")
    assert ran.status == 1
    # Line 5 of the file as it is now.
    assert ran.out == "a.py:5:8 cupy `cupy`: only CUDA has it\n"
    assert codemod("a.py").out == ran.out


def test_a_note_is_told_and_is_no_failure(place: Path, codemod: Codemod) -> None:
    write(place, a=b"import torch, tdev  # hint\nimport tdev\n")
    ran = codemod("--check", ".")
    assert ran.status == 0 and ran.out == "a.py:1:1 hint `torch`: left alone on purpose\n"


def test_one_bad_file_never_stops_the_others(place: Path, codemod: Codemod) -> None:
    write(
        place,
        a=BEFORE,
        b=b"import torch # CRASH\n",
        c=b"import torch # DIE\n",
        d=b"print 'torch'\n",
        e=b"torch = '\xff'\n",
        f=b"# LIE torch\n",
        g=BEFORE,
    )
    (place / "h.py").write_bytes(BEFORE)
    (place / "h.py").chmod(0o444)
    before = {p.name: p.read_bytes() for p in place.iterdir()}
    ran = codemod(".")
    assert ran.status == 2
    for name, word in {
        "b.py": "asked to crash",
        "c.py": "worker process died",
        "d.py": "not Python 3",
        "e.py": "PEP 263",
        "f.py": "account for every difference",
        "h.py": "read-only",
    }.items():
        [line] = [line for line in ran.err.splitlines() if line.startswith(f"{name}: ")]
        assert word in line
        assert (place / name).read_bytes() == before[name]
    assert (place / "a.py").read_bytes() == (place / "g.py").read_bytes() == AFTER
    assert "2 files rewritten, 6 files could not be handled." in ran.err
    assert "Traceback" not in ran.err


def test_files_that_programs_wrote_and_files_that_are_too_large(
    place: Path, codemod: Codemod
) -> None:
    write(place, a=b"# @generated\n" + BEFORE, b=BEFORE + b"#" * 5000)
    (place / "pyproject.toml").write_text("[tool.tdev]\nmax-file-size = 4000\n")
    ran = codemod(".")
    assert ran.status == 0
    assert "a.py: skipped: generated" in ran.err
    assert "b.py: skipped: 5,039 bytes, more than max-file-size allows (4,000)" in ran.err
    assert "2 files skipped." in ran.err
    assert codemod("--quiet", ".").err == ""


def test_what_the_engine_prints_does_not_get_into_the_way(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE + b"# SHOUT\n")
    ran = codemod("--check", ".")
    assert "the engine prints this" not in ran.out and ran.status == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: PATH"),
        (["nothing.py"], "error: no such file or directory: nothing.py"),
        (["--jobs", "0", "."], "--jobs is at least 1"),
        (["--jobs", "many", "."], "invalid int"),
        (["--style", "loud", "."], "invalid choice: 'loud'"),
        (["--target", "accelerator", "--style", "alias", "."], "no style 'alias'"),
        (["--check", "--diff", "."], "not allowed with"),
        (["--output", "x", "."], "choose one with --report"),
        (["--diff", "--report", "json", "."], "give the report a file"),
        (["--check", "--report", "json", "--output", "no/x", "."], "its directory does not exist"),
        (["--config", "none.toml", "."], "none.toml: cannot be read"),
        (["--explain", "is-cudaa"], "there is no such rule; did you mean 'is-cuda'?"),
        (["--explain", "../../README"], "the rules are accelerator, "),
        (["--fast", "."], "unrecognized arguments: --fast"),
    ],
)
def test_bad_arguments_are_status_2_and_say_what(
    codemod: Codemod, arguments: list[str], said: str
) -> None:
    ran = codemod(*arguments)
    assert ran.status == 2 and said in ran.err and "Traceback" not in ran.err
    assert ran.out == ""


def test_no_files_is_no_error(codemod: Codemod) -> None:
    ran = codemod(".")
    assert ran.status == 0 and "no files to look at" in ran.err


def test_a_configuration_with_a_wrong_key_stops_everything(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE)
    (place / "pyproject.toml").write_text('[tool.tdev]\nexlude = ["a.py"]\n')
    ran = codemod(".")
    assert ran.status == 2 and "exlude" in ran.err and "pyproject.toml" in ran.err
    assert (place / "a.py").read_bytes() == BEFORE


def test_uncommitted_changes_are_refused_when_writing(
    place: Path, codemod: Codemod, git: Callable[..., None]
) -> None:
    write(place, a=BEFORE, b=b"x = 1\n")
    (place / "notes.txt").write_text("1")
    git("init", "-q")
    untracked = codemod(".")
    assert untracked.status == 2 and "a.py" in untracked.err and "--force" in untracked.err
    assert (place / "a.py").read_bytes() == BEFORE
    git("add", "a.py", "b.py", "notes.txt")
    assert codemod(".").status == 2  # staged is not committed
    git("commit", "-q", "-m", "first")
    (place / "notes.txt").write_text("2")
    assert "notes.txt" in codemod(".").err
    (place / "notes.txt").write_text("1")
    (place / "more.txt").write_text("never looked at, so of no concern")
    assert codemod("--check", ".").status == 1
    assert codemod(".").status == 0 and (place / "a.py").read_bytes() == AFTER
    (place / "b.py").write_bytes(BEFORE)
    assert codemod(".").status == 2 and codemod("--diff", ".").status == 1
    assert codemod("--force", ".").status == 0 and (place / "b.py").read_bytes() == AFTER


def test_changes_elsewhere_in_the_tree_are_of_no_concern(
    place: Path, codemod: Codemod, git: Callable[..., None]
) -> None:
    for name in ("src", "other"):
        (place / name).mkdir()
        (place / name / "a.py").write_bytes(BEFORE)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (place / "other/a.py").write_bytes(b"torch = 1\n")
    assert codemod("src").status == 0
    assert (place / "other/a.py").read_bytes() == b"torch = 1\n"


def test_a_repository_that_git_cannot_read_is_refused(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE)
    (place / ".git").write_text("gitdir: /nowhere\n")
    ran = codemod(".")
    assert ran.status == 2 and "git does not answer" in ran.err and "--force" in ran.err
    assert codemod("--force", ".").status == 0


def test_version_and_help_load_nothing(place: Path) -> None:
    probe = (
        "import sys\n"
        "from tdev_core.codemod.cli import main\n"
        "try:\n    main(['--version'])\n"
        "except SystemExit as stop:\n    assert stop.code == 0\n"
        "heavy = {'torch', 'libcst', 'rich', 'pathspec', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, env=_environment()
    )
    assert done.stdout.startswith("tdev codemod ") and done.stdout.endswith("[]\n"), done.stderr


def test_explain_prints_the_page_of_a_rule(place: Path, codemod: Codemod) -> None:
    """The page comes without the parser, and from the installation where there is no checkout."""
    ran = codemod("--explain", "raw-pointer")
    page = Path(__file__).resolve().parents[2] / "docs/codemod/raw-pointer.md"
    assert (ran.status, ran.out, ran.err) == (0, page.read_text(encoding="utf-8"), "")


def test_the_run_itself_never_loads_torch_or_the_parser(place: Path) -> None:
    """The parser belongs to the workers; torch to nobody: there need not be one."""
    write(place, a=BEFORE, b=b"x = 1\n")
    (place / "hide" / "torch").mkdir(parents=True)
    (place / "hide" / "torch" / "__init__.py").write_text("raise ImportError('no torch here')\n")
    probe = (
        "import sys\nfrom tdev_core.codemod.cli import main\n"
        "assert main(['--jobs', '1', 'a.py', 'b.py']) == 0\n"
        "assert not {'torch', 'libcst'} & set(sys.modules)\n"
    )
    environment = _environment(str(place / "hide"))
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    assert b"tdev" in (place / "a.py").read_bytes()


def test_a_reader_that_leaves_is_no_crash(place: Path) -> None:
    for index in range(40):
        (place / f"f{index}.py").write_bytes(BEFORE + b"# filler filler filler\n" * 400)
    command = [sys.executable, "-c", _MAIN, "--check", "."]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment()
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait() == 2 and "Traceback" not in said


@pytest.mark.parametrize("listed", [False, True], ids=["closed", "listed and not entered"])
def test_a_closed_directory_is_one_line_and_the_rest_is_done(
    place: Path, codemod: Codemod, monkeypatch: pytest.MonkeyPatch, listed: bool
) -> None:
    write(place, a=BEFORE)
    (place / "closed").mkdir()
    (place / "closed" / "b.py").write_bytes(BEFORE)
    within = f"{place / 'closed'}{os.sep}"
    stat, lstat, scandir = os.stat, os.lstat, os.scandir

    def refuse(path: object) -> None:
        given = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        if os.path.join(place, given).startswith(within):
            raise PermissionError(13, "Permission denied", given)

    def closed_stat(path: Any, **rest: Any) -> os.stat_result:
        refuse(path)
        return stat(path, **rest)

    def closed_lstat(path: Any, **rest: Any) -> os.stat_result:
        refuse(path)
        return lstat(path, **rest)

    def closed_scandir(path: Any) -> Any:
        if not listed:
            refuse(os.path.join(path, "x"))
        return scandir(path)

    # A test may run as root, to whom nothing is closed.
    monkeypatch.setattr(os, "stat", closed_stat)
    monkeypatch.setattr(os, "lstat", closed_lstat)
    monkeypatch.setattr(os, "scandir", closed_scandir)
    ran = codemod(".")
    assert ran.status == 2 and (place / "a.py").read_bytes() == AFTER
    [line] = [line for line in ran.err.splitlines() if line.startswith("closed")]
    assert line == "closed: this directory cannot be read: Permission denied"
    write(place, a=BEFORE)
    named = codemod("closed/b.py", "a.py")
    assert named.status == 2 and (place / "a.py").read_bytes() == AFTER
    [line] = [line for line in named.err.splitlines() if line.startswith("closed")]
    assert line == "closed/b.py: cannot be read: Permission denied"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user"
)
def test_to_another_user_a_closed_directory_is_one_line_too() -> None:
    """As the one above, with the system's own refusal."""
    script = (
        "import os, sys\n"
        "from tdev_core.codemod.files.discovery import discover\n"
        "from tdev_core.codemod.config import Settings\n"
        "from pathlib import Path\n"
        "os.chdir(sys.argv[1])\n"
        "discover(['a.py'], Settings(base=Path.cwd()))\n"  # imports what the other cannot read
        "os.setgid(65534); os.setuid(65534)\n"
        "for found in discover(['.', 'closed/b.py'], Settings(base=Path.cwd())):\n"
        "    print(found.shown, found.error)\n"
    )
    with tempfile.TemporaryDirectory() as open_to_all:
        place = Path(open_to_all)
        place.chmod(0o755)
        write(place, a=BEFORE)
        (place / "closed").mkdir(mode=0o700)
        (place / "closed" / "b.py").write_bytes(BEFORE)
        done = subprocess.run(
            [sys.executable, "-c", script, open_to_all], capture_output=True, text=True, check=True
        )
    assert done.stdout.splitlines() == [
        "a.py ",
        "closed this directory cannot be read: Permission denied",
        "closed/b.py cannot be read: Permission denied",
    ]


def test_a_file_with_two_names_is_rewritten_once(place: Path, codemod: Codemod) -> None:
    write(place, a=BEFORE)
    os.link(place / "a.py", place / "b.py")
    ran = codemod(".")
    assert ran.status == 0 and "1 file rewritten, 1 file skipped." in ran.err
    assert "b.py: skipped: the same file as a.py (a hard link)" in ran.err
    assert (place / "b.py").read_bytes() == AFTER and (place / "a.py").samefile(place / "b.py")


_MAIN = (
    "import sys\nfrom tdev_core.codemod.cli import main\n"
    "sys.exit(main(['--jobs', '1', *sys.argv[1:]], engine='tests.codemod.small_engine'))\n"
)


def _environment(*more: str) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*more, root])}
