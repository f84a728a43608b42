"""A script under ``tdev run`` sees what it would see under ``python``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.run.conftest import Run

FACTS = """\
import json, sys
import torch
print(json.dumps({
    "call": torch.cuda.synchronize(),
    "argv": sys.argv,
    "path0": sys.path[0],
    "file": __file__,
    "name": __name__,
    "spec": None if __spec__ is None else __spec__.name,
    "package": __package__,
    "main": sys.modules["__main__"].__dict__ is globals(),
    "extra": sorted(set(globals()) - {"json", "sys", "torch", "__annotations__"}),
}))
"""


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert found.pop("call") == "mirrored"
    return found


@pytest.fixture
def plain(python: Run, environment: dict[str, str], app: Path) -> Run:
    """The same under plain Python, where torch is what the mirror is."""
    torch = app.parent / "plain" / "torch"
    torch.parent.mkdir()
    torch.symlink_to(app.parent / "mirror" / "tdev")
    path = os.pathsep.join([str(torch.parent), environment["PYTHONPATH"]])
    return lambda *arguments: python(*arguments, env={**environment, "PYTHONPATH": path})


def test_a_script(app: Path, run: Run, plain: Run) -> None:
    (app / "main.py").write_text(FACTS)
    arguments = ["../app/main.py", "-m", "x", "--root", "--", "-h", "ä b"]
    assert facts(run(*arguments)) == facts(plain(*arguments))


def test_a_module(app: Path, run: Run, plain: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (app / "pkg").mkdir()
    (app / "pkg/__init__.py").write_text("import torch\nassert torch.cuda.synchronize()\n")
    for name in ("mod", "__main__"):
        (app / "pkg" / f"{name}.py").write_text(FACTS)
    monkeypatch.chdir(app)
    for name in ("pkg.mod", "pkg"):
        assert facts(run("-m", name, "a", "-b")) == facts(plain("-m", name, "a", "-b"))


def test_a_directory_with_a_main_module(app: Path, run: Run, plain: Run) -> None:
    (app / "__main__.py").write_text(FACTS + "import beside\n")
    (app / "beside.py").write_text("import torch\nassert torch.cuda.synchronize()\n")
    assert facts(run("../app", "x")) == facts(plain("../app", "x"))


def test_a_link_to_a_script_runs_beside_its_target(app: Path, run: Run, plain: Run) -> None:
    (app / "main.py").write_text(FACTS + "import beside\n")
    (app / "beside.py").write_text("import torch\nassert torch.cuda.synchronize()\n")
    os.symlink(app / "main.py", "link.py")
    assert facts(run("link.py")) == facts(plain("link.py"))


def test_safe_path_is_respected(app: Path, python: Run, plain: Run) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no -P")
    (app / "main.py").write_text(FACTS)
    ours = facts(python("-P", "-m", "tdev_core.run", "../app/main.py"))
    theirs = facts(plain("-P", "../app/main.py"))
    del ours["path0"], theirs["path0"]  # PYTHONPATH, which differs between the two
    assert ours == theirs


def test_nothing_is_written_beside_the_source(app: Path, run: Run) -> None:
    (app / "main.py").write_text("import torch, beside, plain\n")
    (app / "beside.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    (app / "plain.py").write_text("x = 1\n")
    before = {p: p.read_bytes() for p in app.iterdir()}
    for _ in range(2):
        assert run("../app/main.py").returncode == 0
        assert {p: p.read_bytes() for p in app.iterdir()} == before


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("sys.exit(7)", 7),
        ("sys.exit()", 0),
        ("sys.exit('bye')", 1),
        ("raise SystemExit(3)", 3),
        ("import os; os._exit(9)", 9),
        ("x = 1", 0),
        ("1 / 0", 1),
        # Rewritten and raising on one line: the marks under it must fit the file's line.
        ("import torch; torch.cuda.nothing", 1),
        ("import atexit; atexit.register(print, 'last words')", 0),
        ("import threading; threading.Timer(0.1, print, ['last words']).start()", 0),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_a_program_ends_as_it_does_alone(
    app: Path, run: Run, plain: Run, last: str, status: int
) -> None:
    (app / "main.py").write_text(f"import sys\nimport torch\n{last}\n")
    ours, theirs = run("../app/main.py"), plain("../app/main.py")
    assert ours.returncode == theirs.returncode == status
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


def test_standard_input_is_the_programs(app: Path, run: Run) -> None:
    (app / "main.py").write_text("import torch\nprint(input())\n")
    assert run("../app/main.py", input="said\n").stdout == "said\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no script and no module given"),
        (["nothing.py"], "can't open file"),
        (["../app"], "can't find '__main__.py'"),
        (["-m"], "-m needs the name of a module"),
        (["-m", "no.such.module"], "no module named 'no.such.module'"),
        (["-m", "nosuch"], "no module named 'nosuch'"),
        (["-m", "tdev_core.codemod"], "is a package without a __main__ module"),
        (["-m", "sys"], "has no Python code"),
        (["--fast", "x.py"], "unknown option --fast"),
        (["--root"], "--root needs a directory"),
        (["--library"], "--library needs the names"),
        (["--root=nowhere", "x.py"], "--root nowhere: no such directory"),
    ],
)
def test_what_cannot_be_run_is_one_paragraph_and_status_2(
    run: Run, arguments: list[str], said: str
) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("tdev run: ") and said in done.stderr
    assert "Traceback" not in done.stderr


def test_help(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m tdev run")


def test_a_module_that_misses_another_says_which(
    app: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app / "pkg").mkdir()
    (app / "pkg/__init__.py").write_text("import not_installed\n")
    (app / "pkg/mod.py").write_text("")
    monkeypatch.chdir(app)
    done = run("-m", "pkg.mod")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ModuleNotFoundError: No module named 'not_installed'")


def test_without_libcst_it_says_how_to_get_it(app: Path, run: Run, python: Run) -> None:
    (app / "main.py").write_text("import torch\n")
    probe = (
        "import sys, importlib.util as u\nfind = u.find_spec\n"
        "import tdev_core.run.cli as cli\n"
        "cli.find_spec = lambda name: None if name == 'libcst' else find(name)\n"
        "sys.exit(cli.main(['../app/main.py']))\n"
    )
    done = python("-c", probe)
    assert done.returncode == 2 and "pip install 'tdev[codemod]'" in done.stderr
