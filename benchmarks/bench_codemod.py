"""Wall time of the codemod's runner against LibCST's own parallel runner, with the same rules.

    python benchmarks/bench_codemod.py [--tree DIR] [--rounds 3] [--jobs N] [--limit N] [--every N]
        [--once]

The tree is a copy of DIR's Python files (default: those of the installed torch). Each round rewrites
a fresh copy with each runner, ours before each of the others and those in changing order; the
medians and their ratio are printed, with the peak memory of a worker. Copies are compared: both runners must have written the
same bytes, or the comparison is worth nothing.

Two ways of giving LibCST the rules are measured. ``every file`` is what a LibCST codemod is: the
rules see each module that the runner parses. ``triage`` is kinder to it: the codemod asks the
engine's own quick look first and hands back the parsed module where the rules would find nothing.
In neither does a module have to be parsed twice. ``--once`` runs LibCST's runner a single time (the
rules on every file) between three runs of ours, which says as much in a quarter of the time.
Processor time is that of all processes of a run; other work on the machine disturbs it less.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the checkout need not be installed
OURS, EVERY, TRIAGE = "tdev", "libcst, every file", "libcst, triage"

# Each runs in a process of its own and prints one line: seconds, the largest worker's memory, and
# the processor time of all its processes.
_MEASURE = """
import json, os, resource, sys, time
def measured(run):
    start, used = time.perf_counter(), sum(os.times()[:4])
    run()
    seconds, used = time.perf_counter() - start, sum(os.times()[:4]) - used
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    os.write(3, json.dumps([seconds, peak * unit, used]).encode())
tree, jobs = sys.argv[1], int(sys.argv[2])
"""
_RUN_OURS = (
    _MEASURE
    + """
from tdev_core.codemod.cli import main
def run():
    status = main(["--force", "--quiet", "--jobs", str(jobs), tree])
    if status not in (0, 1):
        raise SystemExit(f"status {status}")

measured(run)
"""
)
_RUN_LIBCST = (
    _MEASURE
    + """
import libcst
from libcst.codemod import Codemod, gather_files, parallel_exec_transform_with_prettyprint
from tdev_core.codemod.engine import driver
from tdev_core.codemod.engine import Names, Options, rewrite

if sys.argv[3] == "every":
    ask = driver.concern
    driver.concern = lambda *given: "device" if (said := ask(*given)) == "no" else said
NAMES, parse = Names.load(), libcst.parse_module

class Rules(Codemod):
    def transform_module_impl(self, module):
        source = module.code
        # The engine parses what it is given: here that is done already.
        libcst.parse_module = lambda code, *rest: module if code is source else parse(code, *rest)
        try:
            code = rewrite(source, NAMES, Options()).code
        finally:
            libcst.parse_module = parse
        return module if code == source else parse(code, module.config_for_parsing)

files = gather_files([tree])
def run():
    done = parallel_exec_transform_with_prettyprint(
        Rules, files, jobs=jobs, hide_progress=True, hide_generated=True)
    if done.failures:
        raise SystemExit(f"the rules failed on {done.failures} files")

measured(run)
"""
)
_PROGRAMS = {OURS: (_RUN_OURS, ""), EVERY: (_RUN_LIBCST, "every"), TRIAGE: (_RUN_LIBCST, "triage")}


def main() -> int:
    """Measure and print a table; exit status 1 where the runners wrote different files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tree", type=Path, help="directory with Python files (default: torch)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=_processors(), help="workers for each runner")
    parser.add_argument("--limit", type=int, help="use only the first N files (a quick look)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth file")
    parser.add_argument("--once", action="store_true", help="LibCST once, between runs of ours")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    arguments = parser.parse_args()
    source = arguments.tree or _torch()
    with tempfile.TemporaryDirectory() as scratch:
        pristine = Path(scratch) / "pristine"
        count, size = _copy(source, pristine, arguments.limit, arguments.every)
        print(f"{count:,} files, {size / 1e6:.1f} MB, {arguments.jobs} workers", flush=True)
        found: dict[str, list[tuple[float, int, float]]] = {}
        for turn in range(1 if arguments.once else arguments.rounds):
            others = [EVERY, TRIAGE] if turn % 2 == 0 else [TRIAGE, EVERY]
            turns = [OURS, others[0], OURS, others[1]]
            for name in [OURS, OURS, EVERY, OURS] if arguments.once else turns:
                copy = Path(scratch) / name.replace(" ", "-")
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(pristine, copy)
                found.setdefault(name, []).append(_run(name, copy, arguments.jobs))
                seconds, _, used = found[name][-1]
                print(f"  round {turn + 1}: {name}: {seconds:.1f} s, {used:.1f} s CPU", flush=True)
        differing = [
            path for other in found if other != OURS for path in _differing(Path(scratch), other)
        ]
    numbers = _numbers(found, count, size, arguments.jobs)
    print(_table(numbers))
    if arguments.json:
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    if differing:
        print(f"The runners wrote different files: {', '.join(differing[:10])}", file=sys.stderr)
        return 1
    return 0


def _run(name: str, tree: Path, jobs: int) -> tuple[float, int, float]:
    program, way = _PROGRAMS[name]
    reading, writing = os.pipe()
    try:
        command = f'exec "$0" -c "$1" "$2" {jobs} {way} 3>&{writing}'
        done = subprocess.run(
            ["sh", "-c", command, sys.executable, program, str(tree)],
            pass_fds=[writing],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr[-4000:]}")
        os.close(writing)
        writing = -1
        seconds, peak, used = json.loads(os.read(reading, 1000))
        return seconds, peak, used
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _copy(source: Path, target: Path, limit: int | None, every: int) -> tuple[int, int]:
    """Copy the Python files; both runners look into no directory that ours leaves out."""
    from tdev_core.codemod.config import Settings
    from tdev_core.codemod.files.discovery import discover

    target.mkdir()
    files = discover([str(source)], Settings(base=source.resolve(), include=("*.py",)))
    files = files[:limit:every]
    size = 0
    for found in files:
        copy = target / found.path.relative_to(source.resolve())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found.path, copy)
        size += copy.stat().st_size
    return len(files), size


def _differing(scratch: Path, other: str) -> list[str]:
    ours, theirs = (scratch / name.replace(" ", "-") for name in (OURS, other))
    names = [str(path.relative_to(ours)) for path in sorted(ours.rglob("*.py"))]
    return filecmp.cmpfiles(ours, theirs, names, shallow=False)[1]


def _numbers(
    found: dict[str, list[tuple[float, int, float]]], count: int, size: int, jobs: int
) -> dict[str, Any]:
    ours = statistics.median(run[0] for run in found[OURS])
    ours_used = statistics.median(run[2] for run in found[OURS])
    return {
        "files": count,
        "bytes": size,
        "workers": jobs,
        "runners": {
            name: {
                "median_seconds": round(statistics.median(s for s, _, _ in runs), 2),
                "ratio_to_tdev": round(statistics.median(s for s, _, _ in runs) / ours, 2),
                "median_cpu_seconds": round(statistics.median(u for _, _, u in runs), 2),
                "cpu_ratio_to_tdev": round(statistics.median(u for _, _, u in runs) / ours_used, 2),
                "peak_worker_mb": round(max(peak for _, peak, _ in runs) / 1e6),
            }
            for name, runs in found.items()
        },
    }


def _table(numbers: dict[str, Any]) -> str:
    rows = [
        f"{'runner':<20} {'median':>10} {'ratio':>8} {'CPU':>10} {'ratio':>8} {'peak of a worker':>18}"
    ]
    for name, of in numbers["runners"].items():
        ratio, peak = f"{of['ratio_to_tdev']:.2f} x", f"{of['peak_worker_mb']} MB"
        used = f"{of['median_cpu_seconds']:>8.1f} s {of['cpu_ratio_to_tdev']:>6.2f} x"
        rows.append(f"{name:<20} {of['median_seconds']:>8.1f} s {ratio:>8} {used} {peak:>18}")
    return "\n".join(rows)


def _torch() -> Path:
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("torch is not installed here; name a tree with --tree")
    return Path(spec.submodule_search_locations[0])


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
