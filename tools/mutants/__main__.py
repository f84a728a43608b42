"""``python -m tools.mutants``: plant, test, tell. See the package's docstring."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.forkserver import COMPILER
from tools.mutants.results import (
    Record,
    Results,
    difference,
    known_equivalent,
    report,
    shared_record,
)
from tools.mutants.rooms import ROOMS, Stage
from tools.mutants.running import Stages
from tools.mutants.trees import Mutant, Tree, sample
from tools.mutants.warm import share_servers

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutants"


def main(argv: list[str] | None = None) -> int:
    """Run the sample; 1 where too little was caught, or a survivor is neither found by a test nor explained."""
    options = _options(argv)
    rooms = options.room or list(ROOMS)
    results = Results(options.record or shared_record(ROOT))
    mutants = sample(ROOT, options.most, rooms)
    known_equivalent(ROOT)
    if not options.report:
        done = {} if options.again else results.read()
        again = {key for key, one in done.items() if one.outcome == "survived"}
        left = [m for m in mutants if (m.key in again if options.survivors else m.key not in done)]
        print(f"{len(mutants)} mutants, {len(left)} to be tried", flush=True)
        _warm()
        _run(left, results, options)
        late = {key for key, one in results.read().items() if one.outcome == "unknown"}
        left = [mutant for mutant in mutants if mutant.key in late]
        if left:
            print(f"{len(left)} have not ended in time: each alone, and longer", flush=True)
            _run(left, results, options, alone=True)
    known = results.read()
    records = [known[mutant.key] for mutant in mutants if mutant.key in known]
    text, good = report(records, ROOT)
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "REPORT.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if good and len(records) == len(mutants) else 1


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    whole = sum(room.drawn for room in ROOMS.values())
    parser.add_argument("--most", type=int, default=whole, help=f"of the sample of {whole}")
    parser.add_argument("--room", action="append", choices=tuple(ROOMS), help="only this one")
    parser.add_argument("--record", type=Path, help="another file of records than git's folder has")
    parser.add_argument("--jobs", type=int, default=1, help="trees that are tested side by side")
    parser.add_argument("--again", action="store_true", help="try what has been tried, too")
    parser.add_argument("--survivors", action="store_true", help="try only survivors, once more")
    parser.add_argument(
        "--whole", action="store_true", help="all tests of the room for each mutant"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="at most, of tests for each mutant"
    )
    parser.add_argument(
        "--tests",
        action="append",
        default=[],
        help="only these of the room's files: what they miss stays untried",
    )
    parser.add_argument("--report", action="store_true", help="tell what is known, try nothing")
    return parser.parse_args(argv)


def _warm() -> None:
    """Import what nearly every test imports, and what starts no thread."""
    for name in ("numpy", "torch", "pytest", "libcst", "hypothesis"):
        importlib.import_module(name)
    # torch keeps private parts of itself for the first use
    importlib.import_module("torch.testing")


def _run(
    mutants: list[Mutant], results: Results, options: argparse.Namespace, *, alone: bool = False
) -> None:
    """Have ``--jobs`` forks of this process (``alone`` one), each with a tree, take rooms until none is left."""
    rooms = list(dict.fromkeys(mutant.room for mutant in mutants))
    left, filled = os.pipe()
    os.write(filled, bytes(range(len(rooms))))
    os.close(filled)
    workers = []
    for _ in range(1 if alone else options.jobs):
        pid = os.fork()
        if pid:
            workers.append(pid)
            continue
        tree = Tree(ROOT, BUILD / f"tree-{os.getpid()}")  # another run may be beside this one
        stages = Stages(tree.root, BUILD, options.seconds, alone=alone)
        share_servers((), COMPILER)
        while taken := os.read(left, 1):
            room = rooms[taken[0]]
            _work([m for m in mutants if m.room == room], results, tree, stages, options)
        shutil.rmtree(tree.root, ignore_errors=True)
        os._exit(0)
    os.close(left)
    for pid in workers:
        os.waitpid(pid, 0)


def _work(
    mutants: list[Mutant],
    results: Results,
    tree: Tree,
    stages: Stages,
    options: argparse.Namespace,
) -> None:
    room = ""
    chosen: list[Stage] = []
    for number, mutant in enumerate(mutants, 1):
        if mutant.room != room:
            stages.close()
            room = mutant.room
            chosen = [only for one in ROOMS[room].stages if (only := one.of(options.tests))]
            for stage in chosen:
                begun = time.monotonic()
                found = stages.ready(stage)
                failed = [name for name, test in found.tests.items() if not test.passed]
                print(
                    f"{room}: {len(found.tests)} tests in {time.monotonic() - begun:.0f} s, "
                    f"{len(failed)} fail or are skipped as they are",
                    flush=True,
                )
        record = _tried(mutant, tree, stages, chosen, options.whole)
        if record.outcome in ("caught", "invalid") or chosen == [*ROOMS[room].stages]:
            results.add(record)  # others of the room's tests may find what these do not
        print(
            f"[{number}/{len(mutants)}] {record.outcome} {mutant.path}:{record.line} {record.kind}: "
            f"{record.by} ({record.tests} tests, {record.seconds:.1f} s)",
            flush=True,
        )
    stages.close()


def _tried(mutant: Mutant, tree: Tree, stages: Stages, chosen: list[Stage], whole: bool) -> Record:
    """Plant one mutant and run the stages of its room until a test fails."""
    edit = mutant.edit
    source = (tree.root / mutant.path).read_bytes()
    by, seconds, tests, outcome, late = "", 0.0, 0, "survived", False
    found = None
    try:
        with tree.planted(mutant):
            for stage in chosen:
                one = stages.first_failure(stage, mutant, source.decode(), whole=whole)
                by, seconds, tests = one.by, seconds + one.seconds, tests + one.tests
                late = late or one.late
                if by:
                    outcome, found = "caught", (stage, one.test)
                    break
            else:
                outcome = "unknown" if late else "survived"
    except (SyntaxError, subprocess.CalledProcessError) as error:
        outcome, by = "invalid", type(error).__name__
    if found and not stages.trusts(*found):
        return _tried(mutant, tree, stages, chosen, whole)
    return Record(
        mutant.key,
        mutant.room,
        mutant.path,
        edit.line,
        edit.function,
        edit.kind,
        outcome,
        by,
        seconds,
        tests,
        difference(mutant, source),
    )


if __name__ == "__main__":
    sys.exit(main())
