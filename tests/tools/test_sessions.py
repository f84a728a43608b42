"""The sessions of tools/run_tests.py: nothing that fails goes by unseen, and nothing is left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import sessions
from tools.sessions import Job

ROOT = sessions.ROOT


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sessions, "LOGS", tmp_path)
    return tmp_path


def command(name: str, code: str) -> Job:
    return Job(name, (sys.executable, "-c", code))


def suite(folder: Path, text: str) -> Job:
    file = folder / "test_sample.py"
    file.write_text(text, encoding="utf-8")
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={folder / 'sample.xml'}"]
    return Job("sample", (sys.executable, "-m", "pytest", *options, str(file)))


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = sessions.run_all([[command("a", "print('hidden')")], [command("b", "")]])
    assert sessions._summary(outcomes) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^(ok|FAILED) +(\w+)", printed, flags=re.M)
    assert "hidden" not in printed
    assert printed.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_a_failing_session_fails_the_run_and_shows_its_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = command("bad", "import sys; print('what went wrong'); sys.exit(3)")
    outcomes = sessions.run_all([[bad, command("good", "")]])
    assert [outcome.status for outcome in outcomes] == [3, 0]
    assert sessions._summary(outcomes) == 1
    printed = capsys.readouterr().out
    assert "what went wrong" in printed
    assert "python3 tools/run_tests.py bad\n" in printed


def test_tests_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """\
import pytest

def test_one(): pass
def test_two(): pass
def test_three(): assert False
@pytest.fixture
def broken(): raise ValueError
def test_four(broken): pass
@pytest.mark.skip(reason="to be counted")
def test_five(): pass
"""
    (outcome,) = sessions.run_all([[suite(tmp_path, text)]])
    assert (outcome.status, outcome.passed, outcome.failed, outcome.skipped) == (1, 2, 2, 1)
    capsys.readouterr()
    assert sessions._summary([outcome]) == 1
    summary = capsys.readouterr().out.splitlines()
    assert summary[-1] == "2 passed, 2 failed, 1 skipped"
    named = [line.partition("test_sample::")[2] for line in summary if "test_sample::" in line]
    assert sorted(named) == [  # pytest-randomly, where it is installed, has them in any order
        'test_four: failed on setup with "ValueError"',
        "test_three: assert False",
    ]


def test_a_suite_without_tests_is_a_failure(tmp_path: Path) -> None:
    (outcome,) = sessions.run_all([[suite(tmp_path, "")]])
    assert outcome.status == 5
    assert sessions._summary([outcome]) == 1


def test_a_suite_that_dies_is_a_failure(tmp_path: Path) -> None:
    text = "import os\n\ndef test_one(): os._exit(7)\n"
    (outcome,) = sessions.run_all([[suite(tmp_path, text)]])
    assert outcome.status == 7
    assert sessions._summary([outcome]) == 1


def test_lanes_run_side_by_side_and_a_lane_in_order(tmp_path: Path) -> None:
    """Each job of the first lane waits for one of the second; in one lane they never meet."""
    code = """
import pathlib, sys, time
mine, other = (pathlib.Path({folder!r}, name) for name in {names!r})
assert not mine.exists()
mine.touch()
while not other.exists():
    time.sleep(0.01)
"""

    def job(name: str, other: str) -> Job:
        return command(name, code.format(folder=str(tmp_path), names=(name, other)))

    lanes = [[job("a", "b"), job("c", "d")], [job("b", "a"), job("d", "c")]]
    outcomes = sessions.run_all(lanes)
    assert [outcome.status for outcome in outcomes] == [0] * 4
    names = [outcome.job.name for outcome in outcomes]
    assert names.index("a") < names.index("c") and names.index("b") < names.index("d")


def test_names() -> None:
    everything = [*sessions.CHECKS, *sessions.TESTS]
    assert sessions._named([]) == (everything, [])
    assert sessions._named(["lint"]) == (["lint"], [])
    assert sessions._named(["tests"]) == (list(sessions.TESTS), [])
    assert sessions._named(["tests(cpu)", "check"]) == (["check", "tests(cpu)"], [])
    here = "tests/tools/test_sessions.py::test_names"
    assert sessions._named([here]) == (list(sessions.TESTS), [here])
    assert not any(sessions._named(["nonsense"]))


def test_the_sessions_are_those_of_nox() -> None:
    """And nox needs no Python on the PATH."""
    nox = [os.fspath(Path(sys.executable).with_name("nox")), "--list"]
    listed = subprocess.run(nox, cwd=ROOT, env={"PATH": "/nowhere"}, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    default = re.findall(r"^\* (\S+)", listed.stdout, flags=re.M)
    assert sorted(default) == sorted((*sessions.CHECKS, *sessions.TESTS))


def test_a_session_runs_the_python_that_nox_runs_in(tmp_path: Path) -> None:
    test = tmp_path / "test_sample.py"
    test.write_text(f"import sys\ndef test(): assert sys.executable == {sys.executable!r}\n")
    nox = [os.fspath(Path(sys.executable).with_name("nox")), "-f", str(ROOT / "noxfile.py")]
    report = f"--junitxml={tmp_path / 'report.xml'}"  # the run that this is part of has its own
    options = ["-s", "tests(cpu)", "--", "-p", "no:cacheprovider", report, str(test)]
    env = {**os.environ, "PATH": "/nowhere", "TDEV_TEST_WORKERS": "1"}
    done = subprocess.run([*nox, *options], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
@pytest.mark.deep
def test_an_interrupt_ends_everything(tmp_path: Path) -> None:
    """Down to the processes that tests have started; Ctrl-C reaches the same line, with SIGINT."""
    test = tmp_path / "test_sample.py"
    test.write_text(
        "import pathlib\n"
        "from tests.forkserver import start\n"
        "def test():\n"
        "    program = start('-c', 'import time; time.sleep(1000)')\n"
        f"    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(program._pid()))\n"
        "    program.wait(1000)\n"
    )
    code = (
        "import pathlib, sys\n"
        "from tools import sessions\n"
        f"sessions.LOGS = pathlib.Path({str(tmp_path)!r})\n"
        "python = pathlib.Path(sys.executable)\n"
        f"report = '--junitxml={tmp_path / 'report.xml'}'\n"
        f"job = sessions._session(python, 'tests(cpu)', report, {str(test)!r})\n"
        "sessions.run_all([[job]])"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "generated")])
    env = {**os.environ, "PYTHONPATH": path, "TDEV_TEST_WORKERS": "1"}
    runner = subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE)
    told = tmp_path / "pid"
    assert _soon(lambda: told.exists() and told.read_text() != "")
    runner.send_signal(signal.SIGTERM)
    _, said = runner.communicate(timeout=60)
    assert b"KeyboardInterrupt" in said
    assert _soon(lambda: not Path(f"/proc/{told.read_text()}").exists())


def _soon(condition: object) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(("cores", "beside"), [(1, 1), (2, 1), (8, 2)])
def test_the_tests_of_devices_run_beside_the_others(cores: int, beside: int) -> None:
    every, none = sessions._named([])
    lanes = sessions._whole(Path("python"), every, none, cores)
    names = [[job.name for job in lane] for lane in lanes]
    assert names == [[*sessions.CHECKS, "tests(sim)", "tests(mlx)"], ["tests(cpu)"]]
    assert {job.workers for lane in lanes for job in lane} == {None, beside, cores}


def test_a_session_of_tests_that_is_alone_takes_what_it_wants() -> None:
    for asked in (["tests(mlx)"], ["tests(cpu)"]):
        checks, tests = sessions._whole(Path("python"), *sessions._named(asked), 2)
        assert checks == [] and [(job.name, job.workers) for job in tests] == [(asked[0], None)]
