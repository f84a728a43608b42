"""The job runner of tools/run_tests.py: nothing that fails goes by unseen."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools import test_jobs
from tools.test_jobs import Job


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(test_jobs, "LOGS", tmp_path)
    return tmp_path


def command(name: str, code: str) -> Job:
    return Job(name, (sys.executable, "-c", code))


def suite(folder: Path, text: str) -> Job:
    file = folder / "test_sample.py"
    file.write_text(text, encoding="utf-8")
    return test_jobs._pytest_job(Path(sys.executable), "sample", [file])


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = test_jobs.run_all([command("a", "print('hidden')"), command("b", "")], 2)
    assert test_jobs._summary(outcomes) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^(ok|FAILED) +(\w+)", printed, flags=re.M)
    assert "hidden" not in printed
    assert printed.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_a_failing_job_fails_the_run_and_shows_its_log(capsys: pytest.CaptureFixture[str]) -> None:
    bad = command("bad", "import sys; print('what went wrong'); sys.exit(3)")
    outcomes = test_jobs.run_all([bad, command("good", "")], 1)
    assert test_jobs._summary(outcomes) == 1
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
    (outcome,) = test_jobs.run_all([suite(tmp_path, text)], 1)
    assert (outcome.status, outcome.passed, outcome.failed, outcome.skipped) == (1, 2, 2, 1)
    assert test_jobs._summary([outcome]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 2 failed, 1 skipped"


def test_a_suite_without_tests_is_a_failure(tmp_path: Path) -> None:
    (outcome,) = test_jobs.run_all([suite(tmp_path, "")], 1)
    assert outcome.status == 5
    assert test_jobs._summary([outcome]) == 1


def test_a_suite_that_dies_is_a_failure(tmp_path: Path) -> None:
    text = "import os\n\ndef test_one(): os._exit(7)\n"
    (outcome,) = test_jobs.run_all([suite(tmp_path, text)], 1)
    assert outcome.status == 7
    assert test_jobs._summary([outcome]) == 1


def test_no_more_than_asked_for_run_at_a_time(tmp_path: Path) -> None:
    code = f"""
import os, pathlib, time
place = pathlib.Path({str(tmp_path)!r})
(place / f"{{os.getpid()}}.running").touch()
time.sleep(0.4)
print(len(list(place.glob("*.running"))))
(place / f"{{os.getpid()}}.running").unlink()
"""
    jobs = [command(f"job{i}", code) for i in range(5)]
    test_jobs.run_all(jobs, 2)
    counts = [int(job.log.read_text(encoding="utf-8")) for job in jobs]
    assert max(counts) <= 2


def test_every_folder_of_tests_is_a_job() -> None:
    names = {job.name for job in test_jobs._jobs(Path(sys.executable))}
    for file in (test_jobs.ROOT / "tests").rglob("test_*.py"):
        folder = file.relative_to(test_jobs.ROOT).parts[:2]
        assert ("/".join(folder) if folder[1] != file.name else "tests") in names
    assert {"typecheck", "check", "format", "lint"} <= names
