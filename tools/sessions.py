"""The README's second command: the nox sessions that check everything, the tests beside the other checks.

nox knows what a session runs and pytest-xdist spreads the tests over the cores. Here is what they do not do:
making .venv, running two sessions at a time, a log for each, and one last line that adds all of it up. One lane has
the checks and the tests of the devices that take a process of their own, the other all other tests: where a session
starts, ends or waits, the other lane has the cores, and fewer processes collect what few tests there are.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from tools import changes, environment, progress, typecheck

ROOT = environment.ROOT
LOGS = ROOT / "build" / "logs"
CHECKS = ("check", "lint", "typecheck")
TESTS = ("tests(sim)", "tests(mlx)", "tests(cpu)")
_MOST_WORKERS = 8
_SHOWN_LINES = 150  # of a failed session's log
_MESSAGE_WIDTH = 150  # of a failed test's
_TO_END_S = 20.0
_QUICK_S = 50.0  # for tests, on each core
_SAMPLED = 50  # of so many tests one runs where nothing was changed


@dataclass(frozen=True)
class Job:
    """One nox session with a log of its own."""

    name: str
    command: tuple[str, ...]
    workers: int | None = None
    """Processes that run tests; None: what the session takes."""

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name.replace('(', '-').rstrip(')')}.log"


@dataclass
class Running:
    job: Job
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    started: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        return time.monotonic() - self.started


@dataclass(frozen=True)
class Outcome:
    job: Job
    status: int
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()
    """Each failed test, with the first line of what it said."""


def main() -> int:
    """Run the command line; returns the exit status."""
    arguments = _parse()
    if arguments.list:
        print("\n".join((*CHECKS, *TESTS)))
        return 0
    try:
        python = environment.ensure("dev")
    except environment.SetupError as error:
        print(f"\nSetting up failed: {error}", file=sys.stderr)
        return 2
    if arguments.jobs:
        os.environ["TDEV_TEST_WORKERS"] = str(arguments.jobs)
    jobs = arguments.jobs or min(environment.cores(), _MOST_WORKERS)
    lanes = _quick(python) if arguments.quick else _whole(python, *_named(arguments.names), jobs)
    LOGS.mkdir(parents=True, exist_ok=True)
    for job in (job for lane in lanes for job in lane):
        for old in (job.log, job.log.with_suffix(".xml")):
            old.unlink(missing_ok=True)
    names = [job.name for lane in lanes for job in lane]
    progress.heading(f"{', '.join(names)}; logs in build/logs")
    return _summary(run_all(lanes))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/run_tests.py",
        description="Runs every check and test of the project, or those that are named.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a session of --list, or a file or folder of tests"
    )
    parser.add_argument("--quick", action="store_true", help="what the last change touches")
    parser.add_argument("--list", action="store_true", help="name the sessions and stop")
    parser.add_argument("--jobs", type=int, help="processes that run tests (default: the cores)")
    arguments = parser.parse_args()
    if arguments.jobs is not None and arguments.jobs < 1:
        parser.error("--jobs must be at least 1")
    unknown = [name for name in arguments.names if not any(_named([name]))]
    if unknown:
        known = ", ".join((*CHECKS, "tests", *TESTS))
        parser.error(
            f"no such session and no such file of tests: {', '.join(unknown)}. There are {known}"
        )
    return arguments


def _named(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the sessions that ``names`` mean, and the tests that they are held to; no name means everything."""
    sessions = [name for name in (*CHECKS, *TESTS) if name in names or not names]
    tests = [
        name for name in names if name not in sessions and (ROOT / name.split("::")[0]).exists()
    ]
    if "tests" in names:
        tests.remove("tests")
    if tests or "tests" in names:
        sessions += [name for name in TESTS if name not in sessions]
    return sessions, tests


def _whole(python: Path, sessions: list[str], tests: list[str], jobs: int) -> list[list[Job]]:
    """Return two lanes that end at about the same time; a session of tests that has its lane alone takes all cores."""
    checks = [_session(python, name) for name in CHECKS if name in sessions]
    devices = [_session(python, name, *tests) for name in TESTS[:-1] if name in sessions]
    others = [_session(python, name, *tests) for name in TESTS[-1:] if name in sessions]
    if not devices or not others:
        return [checks, devices + others]
    devices = [replace(job, workers=max(1, jobs // 3)) for job in devices]
    return [checks + devices, [replace(job, workers=jobs) for job in others]]


def _quick(python: Path) -> list[list[Job]]:
    """Drift, the types of the changed files and the tests nearest to them; or a slice of everything."""
    files = changes.changed(ROOT)
    there = [file for file in files if (ROOT / file).exists()]
    tests, left_out = changes.within(
        _QUICK_S * environment.cores(), changes.nearest_tests(ROOT, files), LOGS
    )
    print(f"{len(files)} files changed: {len(tests)} files of tests are near, and in time")
    if left_out:
        print(f"left out, for time: python3 tools/run_tests.py {' '.join(left_out)}")
    written = [file for file in there if file.endswith((".py", ".pyi"))]
    checked = [file for file in written if file.split("/")[0] in typecheck.CHECKED]
    checks = [_session(python, "check")]
    checks += [_session(python, "lint", *written)] if written else []
    checks += [_session(python, "typecheck", *checked)] if checked else []
    named = [*tests, "-m", "not deep and not slow"]
    sample = ["-m", "not deep and not slow", f"--every={_SAMPLED}"]
    names = TESTS if tests else ["tests(cpu)"]
    return [checks, [_session(python, name, *(named if tests else sample)) for name in names]]


def _session(python: Path, name: str, *tests: str) -> Job:
    command = (str(python), "-m", "nox", "--non-interactive", "-f", str(ROOT / "noxfile.py"))
    return Job(name, (*command, "-s", name, "--", *tests))


def run_all(lanes: Sequence[Sequence[Job]]) -> list[Outcome]:
    """Run the lanes side by side and the jobs of a lane in order; print each one's result when it ends."""
    waiting = [list(lane) for lane in lanes]
    running: dict[int, Running] = {}
    done = list[Outcome]()
    status = progress.StatusLine()
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        while any(waiting) or running:
            for number, lane in enumerate(waiting):
                if lane and number not in running:
                    running[number] = _start(lane.pop(0))
            time.sleep(0.2)
            for number, one in list(running.items()):
                if one.process.poll() is not None:
                    del running[number]
                    one.output.close()
                    done.append(_outcome(one))
                    status.clear()
                    _print_outcome(done[-1])
            now = [
                f"{r.job.name} ({r.seconds():.0f} s) {_last_line(r.job)}" for r in running.values()
            ]
            if now:
                status.show("; ".join(now))
    finally:
        status.clear()
        _stop(list(running.values()))
        signal.signal(signal.SIGTERM, before)
    return done


def _interrupted(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def _start(job: Job) -> Running:
    output = job.log.open("wb")
    env = environment.child_environment()
    if job.workers is not None:
        env["TDEV_TEST_WORKERS"] = str(job.workers)
    process = subprocess.Popen(
        job.command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )
    return Running(job, process, output)


def _stop(running: list[Running]) -> None:
    """End what still runs; nox hands an interrupt on to what it has started."""
    for one in running:
        one.process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    for one in running:
        try:
            one.process.wait(_TO_END_S)
        except subprocess.TimeoutExpired:
            one.process.kill()
        one.output.close()


def _last_line(job: Job) -> str:
    """Return what the job said last: of pytest, how far it is."""
    with job.log.open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - 400))
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1][-60:].strip() if lines else ""


def _outcome(one: Running) -> Outcome:
    told = counts(one.job.log.with_suffix(".xml"))
    return Outcome(one.job, one.process.returncode, one.seconds(), *told)


def counts(report: Path) -> tuple[int, int, int, tuple[str, ...]]:
    """Passed, failed and skipped tests of a JUnit file, and which failed; an error in a fixture counts as failed."""
    if not report.exists():
        return 0, 0, 0, ()
    # pytest's own report of this run
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))  # nosec B314
    total = {
        k: sum(int(s.get(k, "0")) for s in suites)
        for k in ("tests", "failures", "errors", "skipped")
    }
    failed = total["failures"] + total["errors"]
    failures = tuple(
        f"{case.get('classname')}::{case.get('name')}: {_first_line(told.get('message'))}"
        for suite in suites
        for case in suite.iter("testcase")
        for told in case
        if told.tag in ("failure", "error")
    )
    return total["tests"] - failed - total["skipped"], failed, total["skipped"], failures


def _first_line(message: str | None) -> str:
    return (message or "").strip().partition("\n")[0][:_MESSAGE_WIDTH]


def _print_outcome(outcome: Outcome) -> None:
    counts = ""
    if outcome.passed or outcome.failed or outcome.skipped:
        counts = f"  {outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    word = "ok    " if outcome.status == 0 else "FAILED"
    print(f"{word}  {outcome.job.name:<12} {outcome.seconds:6.0f} s{counts}", flush=True)
    if outcome.status != 0:
        text = outcome.job.log.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in text[-_SHOWN_LINES:]), flush=True)


def _summary(outcomes: list[Outcome]) -> int:
    broken = [o for o in outcomes if o.status != 0]
    if broken:
        names = [o.job.name for o in broken]
        progress.heading(f"failed: {', '.join(names)}")
        quoted = " ".join(f"'{name}'" if "(" in name else name for name in names)
        print(f"Once more only these: python3 tools/run_tests.py {quoted}")
        # The last lines of a log are what a reader of a long one sees.
        for failure in (failure for outcome in broken for failure in outcome.failures):
            print(failure)
    passed, failed, skipped = (
        sum(getattr(o, k) for o in outcomes) for k in ("passed", "failed", "skipped")
    )
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if broken else 0
