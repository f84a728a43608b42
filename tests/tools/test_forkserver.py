"""A program in a fork of a process that has torch finds what it would find in a fresh interpreter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from tests.forkserver import _site_customized, environment, python, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
HAS_TORCH = "import sys; print('torch' in sys.modules)"

PROGRAMS = {
    "arguments": "import sys; print(sys.argv, sys.orig_argv[1:], __name__)",
    "path": "import sys; print(sys.path[0], [p for p in sys.path if p == '/given'])",
    "names": "print(sorted(n for n in globals() if not n.startswith('__')), __builtins__.len)",
    "main": "import sys; x = 1; print(sys.modules['__main__'].x, '__file__' in globals())",
    "environment": "import os; print(os.environ['GIVEN'], os.getenv('LOST'), os.getcwd())",
    "native environment": "import subprocess; subprocess.run(['printenv', 'GIVEN'])",
    "input": "import sys; print(sys.stdin.read(), sys.stdout.isatty(), sys.stdout.encoding)",
    "status": "raise SystemExit(7)",
    "message": "import sys; sys.exit('said at the end')",
    "none": "import sys; sys.exit(None)",
    "error": "def f():\n    raise ValueError('wrong')\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "syntax": "x = = 1",
    "annotations": "def f(x: undefined): pass",
    "hook": "import sys; sys.excepthook = lambda *a: print('hook', a[1]); raise ValueError(1)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "hard exit": "import os; print('lost'); os._exit(3)",
    "unflushed": "import sys; sys.stdout.write('no newline'); sys.stderr.write('error')",
    "atexit": "import atexit; atexit.register(print, 'last'); print('first')",
    "thread": (
        "import threading, time\n"
        "def late(): time.sleep(0.1); print('thread')\n"
        "threading.Thread(target=late).start(); print('main')"
    ),
    "daemon": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()"
    ),
    "teardown": "class A:\n    def __del__(self): print('deleted')\na = A()\nimport sys; sys.exit(2)",
    "warnings": "import warnings; warnings.warn('shown', stacklevel=1)",
    "session": "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))",
    "interrupt": "import signal; print(signal.getsignal(signal.SIGINT).__name__)",
    "processes": (
        "import multiprocessing as m, sys\n"
        "p = m.get_context('fork').Process(target=print, args=('child',)); p.start(); p.join()\n"
        "print(p.exitcode)"
    ),
    "descriptors": "import os; print(sorted(int(d) for d in os.listdir('/proc/self/fd'))[:-1])",
}


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_a_fork_is_like_an_interpreter(code: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    env = environment(GIVEN="ä", LOST=None, PYTHONPATH="/given")
    file = tmp_path / "program.py"
    (tmp_path / "other" / "module.py").write_text(code, encoding="utf-8")
    file.write_text(code, encoding="utf-8")
    for arguments in (
        ("-c", code, "-c", "b"),
        ("-m", "module", "-c", "b"),
        (os.fspath(file), "a", "b"),
    ):
        told = [
            python(*arguments, input="ü", env=env, cwd=tmp_path / "other", fresh=fresh)
            for fresh in (True, False)
        ]
        assert told[0].returncode == told[1].returncode
        assert told[0].stdout == told[1].stdout
        if arguments[0] == "-c":  # from Python 3.13 on, its lines are shown
            told = [_without_source(answer) for answer in told]
        assert told[0].stderr == told[1].stderr


def _without_source(answer: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    lines = re.sub(r'(  File "<string>".*\n)(    .*\n)+', r"\1", answer.stderr)
    lines = re.sub(r"(<string>:\d+: .*\n)  .*\n", r"\1", lines)  # of a warning
    return subprocess.CompletedProcess(answer.args, answer.returncode, answer.stdout, lines)


@pytest.mark.parametrize("library", ["random.random()", "np.random.rand()", "torch.rand(1)"])
def test_forks_do_not_share_their_random_numbers(library: str) -> None:
    code = f"import random, torch, numpy as np; print({library})"
    assert python("-c", code).stdout != python("-c", code).stdout


def test_a_fork_may_have_threads_of_its_own() -> None:
    code = (
        "import torch; torch.set_num_threads(2)\n"
        "print(torch.ones(1 << 20).sum().item(), torch.get_num_threads())"
    )
    assert python("-c", code).stdout == "1048576.0 2\n"


def test_torch_is_there_and_tdev_is_not() -> None:
    code = "import sys; print('torch' in sys.modules, [m for m in sys.modules if 'tdev' in m])"
    assert python("-c", code).stdout == "True []\n"
    assert python("-c", HAS_TORCH, fresh=True).stdout == "False\n"


def test_parts_of_torch_can_be_there_too() -> None:
    code = "import sys; print('torch._dynamo' in sys.modules)"
    assert python("-c", code).stdout == "False\n"
    assert python("-c", code, preload=("torch._dynamo",)).stdout == "True\n"


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_each_program_picks_its_backend(backend: str) -> None:
    code = "import tdev; print(tdev.zeros(2, device='cuda').device)"
    done = python("-c", code, env=environment(TDEV_BACKEND=backend))
    assert done.stdout.startswith(backend), done.stderr


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (("-W", "error", "-c", HAS_TORCH), {}),
        (("-c", HAS_TORCH), {"PYTHONWARNINGS": "error"}),
        (("-c", HAS_TORCH), {"OMP_NUM_THREADS": "3"}),
        (("-c", HAS_TORCH), {"PYTORCH_ENABLE_MPS_FALLBACK": "0"}),
    ],
)
def test_what_is_read_at_the_start_needs_an_interpreter(
    arguments: tuple[str, ...], settings: dict[str, str]
) -> None:
    assert python(*arguments, env=environment(**settings)).stdout == "False\n"


def test_the_path_of_a_program_customizes_it_though_the_systems_python_is_customized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("mine = True\n")
    systems = types.ModuleType("sitecustomize")
    systems.__file__ = "/etc/python3/sitecustomize.py"
    monkeypatch.setitem(sys.modules, "sitecustomize", systems)
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):
        _site_customized()
        assert sys.modules["sitecustomize"].mine


def test_no_program_builds_kernels_behind_itself_unless_asked() -> None:
    assert (
        environment()["TDEV_NATIVE_BUILD"]
        == environment(TDEV_BACKEND="mlx")["TDEV_NATIVE_BUILD"]
        == "0"
    )
    assert environment(TDEV_NATIVE_BUILD="1")["TDEV_NATIVE_BUILD"] == "1"
    assert "TDEV_NATIVE_BUILD" not in environment(TDEV_NATIVE_BUILD=None)


def test_programs_run_side_by_side() -> None:
    """The first waits for what the second writes."""
    reader, writer = os.pipe()
    folder = f"/proc/{os.getpid()}/fd"
    first = start("-c", f"print(open('{folder}/{reader}').readline())")
    second = start("-c", f"open('{folder}/{writer}', 'w').write('said\\n')")
    assert second.wait(60).returncode == 0
    assert first.wait(60).stdout == "said\n\n"
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("fresh", [False, True])
def test_what_hangs_is_killed_with_what_it_started(fresh: bool) -> None:
    code = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        python("-c", code, timeout=2, fresh=fresh)
    pid = int(caught.value.output)
    deadline = time.monotonic() + 30
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_the_server_ends_with_the_process_that_asked() -> None:
    """A program of its own asks, and tells the server's process."""
    code = (
        "from tests.forkserver import python\n"
        "print(python('-c', 'import os; print(os.getppid())').stdout)"
    )
    done = python("-c", code, env=environment(), fresh=True)
    assert done.returncode == 0, done.stderr
    assert not _runs(int(done.stdout))


def test_what_runs_ends_with_the_process_that_asked() -> None:
    code = (
        "import os, signal, time\n"
        "from tests.forkserver import start\n"
        "print(start('-c', 'import time; time.sleep(1000)')._pid(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = python("-c", code, env=environment(), fresh=True)
    deadline = time.monotonic() + 30
    while _runs(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(int(done.stdout))
