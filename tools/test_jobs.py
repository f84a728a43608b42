"""The README's second command: every check and test, as jobs that run side by side.

A job is one command with a log of its own in build/logs. Test directories are jobs of their own, so that
they share the cores with the type checker, the package test and the demo.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from tools import environment, progress

ROOT = environment.ROOT
LOGS = ROOT / "build" / "logs"
_SHOWN_LINES = 120  # of a failed job's log

_CHECKS: dict[str, list[str]] = {
    "typecheck": ["-m", "tools.typecheck"],
    "check": ["-m", "generator", "--check"],
    "format": ["-m", "black", "--check", "."],
    "lint": ["-m", "ruff", "check", "--output-format", "concise", "."],
}
# The longest first, so that no core is left waiting for one of them at the end.
_FIRST = [
    "tests/mirror",
    "tests/mlx",
    "tests/core",
    "tests/sim",
    "tests/codemod",
    "tests/generator",
    "tests/demo",
    "tests/run",
    "tests/package",
]


@dataclass(frozen=True)
class Job:
    """One command; ``report`` is the JUnit file it leaves when it is a pytest run."""

    name: str
    command: tuple[str, ...]
    report: Path | None = None

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name.replace('/', '-')}.log"


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
    passed: int
    failed: int
    skipped: int


def main() -> int:
    arguments = _parse()
    jobs = _jobs(environment.venv_python())
    if arguments.list:
        print("\n".join(job.name for job in jobs))
        return 0
    unknown = sorted(set(arguments.names) - {job.name for job in jobs})
    if unknown:
        print(f"No such job: {', '.join(unknown)}. There are: {', '.join(j.name for j in jobs)}")
        return 2
    try:
        environment.ensure("dev")
    except environment.SetupError as error:
        print(f"\nSetting up failed: {error}", file=sys.stderr)
        return 2
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    chosen = [job for job in jobs if not arguments.names or job.name in arguments.names]
    progress.heading(f"{len(chosen)} jobs, {arguments.jobs} at a time; logs in build/logs")
    return _summary(run_all(chosen, arguments.jobs))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/run_tests.py", description="Runs every check and test of the project."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these jobs (default: all)")
    parser.add_argument("--list", action="store_true", help="name the jobs and stop")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="jobs at a time")
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error("--jobs must be at least 1")
    return arguments


def _jobs(python: Path) -> list[Job]:
    jobs = [Job(name, (str(python), *command)) for name, command in _CHECKS.items()]
    tests = ROOT / "tests"
    folders = sorted(p for p in tests.iterdir() if p.is_dir() and any(p.rglob("test_*.py")))
    jobs += [_pytest_job(python, f"tests/{p.name}", [p]) for p in folders]
    loose = sorted(tests.glob("test_*.py"))
    if loose:
        jobs.append(_pytest_job(python, "tests", loose))
    return sorted(jobs, key=lambda j: _FIRST.index(j.name) if j.name in _FIRST else len(_FIRST))


def _pytest_job(python: Path, name: str, paths: list[Path]) -> Job:
    report = LOGS / f"{name.replace('/', '-')}.xml"
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    return Job(name, (str(python), "-m", "pytest", *options, *map(str, paths)), report)


def run_all(jobs: list[Job], at_a_time: int) -> list[Outcome]:
    """Runs the jobs in order, so many at a time; prints each one's result when it ends."""
    waiting, running, done = list(jobs), list[Running](), list[Outcome]()
    status = progress.StatusLine()
    try:
        while waiting or running:
            while waiting and len(running) < at_a_time:
                running.append(_start(waiting.pop(0)))
            time.sleep(0.2)
            for one in [r for r in running if r.process.poll() is not None]:
                running.remove(one)
                one.output.close()
                done.append(_outcome(one))
                status.clear()
                _print_outcome(done[-1])
            if running:
                now = ", ".join(f"{r.job.name} ({r.seconds():.0f} s)" for r in running)
                status.show(f"{len(done)} of {len(jobs)} done; running: {now}")
    finally:
        status.clear()
        for one in running:
            one.process.terminate()
    return done


def _start(job: Job) -> Running:
    # One thread per job: as many jobs as cores run at a time.
    env = environment.child_environment(OMP_NUM_THREADS="1")
    output = job.log.open("wb")
    process = subprocess.Popen(
        job.command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
    )
    return Running(job, process, output)


def _outcome(one: Running) -> Outcome:
    passed, failed, skipped = _counts(one.job.report)
    return Outcome(one.job, one.process.returncode, one.seconds(), passed, failed, skipped)


def _counts(report: Path | None) -> tuple[int, int, int]:
    """Passed, failed and skipped tests of a JUnit file; an error in a fixture counts as failed."""
    if report is None or not report.exists():
        return 0, 0, 0
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total = {
        k: sum(int(s.get(k, "0")) for s in suites)
        for k in ("tests", "failures", "errors", "skipped")
    }
    failed = total["failures"] + total["errors"]
    return total["tests"] - failed - total["skipped"], failed, total["skipped"]


def _print_outcome(outcome: Outcome) -> None:
    counts = ""
    if outcome.job.report:
        counts = f"  {outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    word = "ok    " if outcome.status == 0 else "FAILED"
    print(f"{word}  {outcome.job.name:<18} {outcome.seconds:6.0f} s{counts}", flush=True)
    if outcome.status != 0:
        text = outcome.job.log.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(f"    {line}" for line in text[-_SHOWN_LINES:]), flush=True)


def _summary(outcomes: list[Outcome]) -> int:
    broken = [o for o in outcomes if o.status != 0]
    if broken:
        progress.heading(f"failed: {', '.join(o.job.name for o in broken)}")
        names = " ".join(o.job.name for o in broken)
        print(f"Once more only these: python3 tools/run_tests.py {names}")
    passed, failed, skipped = (
        sum(getattr(o, k) for o in outcomes) for k in ("passed", "failed", "skipped")
    )
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if broken else 0
