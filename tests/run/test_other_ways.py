"""The program's files that are not imported: debugged, profiled, compiled or loaded by path, launched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tdev_core.run import launching
from tdev_core.run.roots import Roots
from tests.run.conftest import Run

SCRIPT = """\
import sys
import torch


def main():
    answer = torch.cuda.synchronize()
    print(answer, __name__, sys.argv[1:], flush=True)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    "tool",
    [
        ["-m", "cProfile"],
        ["-m", "profile"],
        ["-m", "trace", "--count", "--missing", "-C", "covers"],
        ["-m", "runpy"],
        ["runner.py"],
    ],
    ids=" ".join,
)
def test_a_tool_that_compiles_the_script(app: Path, run: Run, tool: list[str]) -> None:
    (app / "main.py").write_text(SCRIPT)
    Path("runner.py").write_text(
        "import runpy, sys\ndel sys.argv[0]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    script = "main" if tool == ["-m", "runpy"] else "../app/main.py"
    done = run("--root", str(app), *tool, script, "a", cwd=str(app) if script == "main" else None)
    assert "mirrored __main__ ['a']" in done.stdout.splitlines(), done.stdout + done.stderr


def test_a_debugger_shows_the_files_lines(app: Path, run: Run) -> None:
    (app / "main.py").write_text(SCRIPT)
    done = run("-m", "pdb", "../app/main.py", "a", input="b main\nc\nn\np answer\nc\nq\n")
    assert "(6)main()\n-> answer = torch.cuda.synchronize()" in done.stdout
    assert "(Pdb) 'mirrored'" in done.stdout and "mirrored __main__ ['a']" in done.stdout


def test_code_that_is_loaded_by_path(app: Path, run: Run) -> None:
    (app / "beside.py").write_text("import torch\nsaid = torch.cuda.synchronize()\n")
    (app / "main.py").write_text(
        "import importlib.machinery as m, importlib.util as u, os\n"
        "path = os.path.join(os.path.dirname(__file__), 'beside.py')\n"
        "spec = u.spec_from_file_location('one', path)\n"
        "module = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(module.said)\n"
        "print(m.SourceFileLoader('two', path).load_module().said)\n"
        "exec(compile(open(path).read(), path, 'exec'))\n"
        "print(said)\n"
        "del said\n"
        "import pathlib\n"
        "exec(compile(pathlib.Path(path).read_text(), pathlib.Path(path), 'exec'))\n"
        "print(said)\n"
        "exec(compile('import torch; said = torch.cuda.synchronize()', path, 'exec'))\n"
        "print(said)\n"
    )
    done = run("../app/main.py")
    # What is compiled under a file's name, but is not its text, is nobody's file.
    assert done.stdout.splitlines() == ["mirrored"] * 4 + ["not mirrored"], done.stderr
    assert not list(app.rglob("__pycache__"))


def test_compile_hands_on_the_callers_future(app: Path, run: Run) -> None:
    source = "compile('def f(x: nowhere): pass', 'made', 'exec')"
    (app / "main.py").write_text(f"from __future__ import annotations\nexec({source})\nprint(1)\n")
    assert run("../app/main.py").stdout == "1\n"
    (app / "main.py").write_text(f"exec({source})\n")
    assert "NameError: name 'nowhere' is not defined" in run("../app/main.py").stderr


def test_programs_that_it_starts(app: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(app)
    (app / "other.py").write_text(SCRIPT)
    (app / "main.py").write_text(
        "import subprocess, sys, torch\n"
        "for words in (['-u', 'other.py', 'x'], ['-m', 'other'], ['-W', 'ignore', 'other.py'],\n"
        "              ['-c', 'import torch; print(torch.cuda.synchronize())']):\n"
        "    subprocess.run([sys.executable, *words], check=True)\n"
    )
    assert run("main.py").stdout.splitlines() == [
        "mirrored __main__ ['x']",
        "mirrored __main__ []",
        "mirrored __main__ []",
        "mirrored",
    ]


def test_text_that_it_starts(app: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python would start it, and the modules of the program that it imports are the program's."""
    monkeypatch.chdir(app)
    text = "import sys, mod; print(mod.told, sys.argv, [sys.path[0]], __name__)"
    (app / "mod.py").write_text("import torch\ntold = torch.cuda.synchronize()\n")
    start = f"subprocess.run([sys.executable, '-c', {text!r}, 'x'], check=True)"
    (app / "main.py").write_text(f"import subprocess, sys\n{start}\n")
    assert run("main.py").stdout == "mirrored ['-c', 'x'] [''] __main__\n"
    failing = "subprocess.run([sys.executable, '-c', 'import torch\\n1 / 0'])"
    (app / "main.py").write_text(f"import subprocess, sys\nprint({failing}.returncode)\n")
    done = run("main.py")
    assert done.stdout == "1\n" and 'File "<string>", line 2, in <module>' in done.stderr


def test_which_commands_go_through_the_runner(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (app / "main.py").write_text("")
    (app / "mod.py").write_text("")
    outside = app.parent / "outside.py"
    outside.write_text("")
    roots = Roots([str(app)])
    python, runner = sys.executable, ["-m", "tdev_core.run"]
    monkeypatch.chdir(app)

    def goes_through(*words: str, directory: str | None = None) -> bool:
        command = [python, *words]
        changed = launching.through(command, runner, roots, directory)
        return bool(changed != command)

    assert launching.through([python, "-u", "main.py", "-x"], runner, roots) == [
        *(python, "-u", "-m", "tdev_core.run", "main.py", "-x")
    ]
    assert goes_through("-OO", "-X", "dev", str(app / "main.py"))
    assert goes_through("-m", "mod") and not goes_through("-m", "json.tool")
    assert goes_through("-m", "torch.distributed.run", "--nproc-per-node", "2", "main.py")
    assert goes_through("main.py", directory=str(app))
    assert not goes_through("main.py", directory=str(app.parent))
    assert not goes_through(str(outside)) and not goes_through()
    assert not goes_through("-m", "tdev", "run", "main.py")
    for option in ("-I", "-E", "-S", "-c", "-Ic"):
        assert not goes_through(option, "main.py")
    text = [python, "-Buc", "import mod", "x"]
    assert launching.through(text, runner, roots, text=True) == [
        *(python, "-Bu", *runner, "-c", "import mod", "x")
    ]
    assert launching.through([python, "-Ic", "pass"], runner, roots, text=True)[1] == "-Ic"
    assert launching.through("python main.py", runner, roots) == "python main.py"
    assert launching.through(["/bin/sh", "main.py"], runner, roots) == ["/bin/sh", "main.py"]


def test_pytest_as_the_module(app: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(app)
    (app / "test_it.py").write_text(
        "import torch\n\n\ndef test_it():\n    assert torch.cuda.synchronize() == 'mirrored'\n"
    )
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_roots_where_case_does_not_count(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.normcase", str.lower)
    roots = Roots([str(app).upper()])
    assert roots.cover(str(app / "Main.py")) and not roots.cover(str(app) + "s.py")


def test_an_argument_that_says_pytest_is_an_argument(app: Path, run: Run) -> None:
    (app / "main.py").write_text("import os\nprint(os.environ.get('PYTEST_PLUGINS'))\n")
    assert run(str(app / "main.py"), "pytest").stdout.split() == ["None"]


def test_a_child_that_could_not_find_the_runner_runs_plainly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert launching._finds_the_same(None)
    assert launching._finds_the_same({"PYTHONPATH": "/more:/somewhere".replace(":", os.pathsep)})
    assert not launching._finds_the_same({"PATH": "/bin"})
    monkeypatch.delenv("PYTHONPATH")
    assert launching._finds_the_same({"PATH": "/bin"})
