"""Chooses the tests that can find a mutant, and runs them until one does.

First the tests of a stage once, as they are: how long each takes, which lines it and the programs that it starts execute,
which fail (these are left out). Then for each mutant those that execute its lines, fastest first. A mutant on lines that no
test executes has survived at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tools.mutants.operators import Edit
from tools.mutants.recording import Lines
from tools.mutants.rooms import Stage
from tools.mutants.trees import Mutant
from tools.mutants.warm import Ended, Request, Warm

__all__ = ["Baseline", "Outcome", "Stages", "Witness"]

UNSEEN = 20.0
"""Seconds for tests of which nobody knows whether they see a mutant, as it happens in programs that left no record."""
USING, ELSEWHERE = 60.0, 10.0
"""Seconds for tests that execute something of a file whose constants have changed, and for others."""
BASELINE = 1200.0
"""Seconds that all tests of a stage may take with nothing planted."""
QUICK = 10.0
"""Seconds that one test may take in a quick run, looked at and on a machine that others use."""
COLLECTING = 120.0
"""Seconds that collecting anew may take."""
LIMIT, SLOWER = 15.0, 5.0
"""Seconds that a run may always take, and how many times longer than with nothing planted."""
HANGS = 10.0
"""How many times longer a test may take, alone on the machine, before it hangs."""
_GIVEN_UP = re.compile(r"Timeout \(>|TimeoutExpired|timed out")
"""What a test says that has itself waited too long for a program, or was ended by its own clock."""


@dataclass
class Witness:
    """The behaviour of one test where nothing was planted."""

    seconds: float = 0.0
    passed: bool = True
    starts: bool = False  # programs that left no record
    lines: Lines = field(default_factory=dict)


@dataclass
class Baseline:
    """Tests of one stage, by node id, and what was executed while they were collected."""

    tests: dict[str, Witness]
    imported: Lines

    def at_import(self, path: str, edit: Edit) -> bool:
        """Tell whether a change shows already when the tests are collected, and what they import."""
        return bool(self.imported.get(path, 0) & (_bits(edit) if edit.function else -1))

    def able(self, path: str, edit: Edit) -> list[str]:
        """Return the tests that can see a change, the fastest first.

        A change of what is executed at import, or whose answer is kept, shows in whatever uses the file, and then in
        any other test.
        """
        tests = {name: test for name, test in self.tests.items() if test.passed}
        order = sorted(tests, key=lambda name: tests[name].seconds)
        if not path.endswith(".py"):
            return order
        wide = self.at_import(path, edit) or not edit.entered
        bits = -1 if wide else _bits(edit)
        chosen = [name for name in order if tests[name].lines.get(path, 0) & bits]
        if wide:
            known, left = set(chosen), USING
            chosen = [n for n in chosen if (left := left - tests[n].seconds) > 0]
            left = ELSEWHERE
            chosen += [n for n in order if n not in known and (left := left - tests[n].seconds) > 0]
        left = UNSEEN
        others = [name for name in order if tests[name].starts and name not in set(chosen)]
        return chosen + [n for n in others if (left := left - tests[n].seconds) > 0]


def _bits(edit: Edit) -> int:
    return (1 << edit.last + 1) - (1 << edit.first)


@dataclass(frozen=True)
class Outcome:
    """The end of one stage.

    Attributes:
        by: by what the fault was found; empty where it was not.
        seconds: by the wall's clock.
        tests: how many were chosen.
        test: which one has found it.
        late: it had not ended in time, which says nothing of the fault: the machine may have had other work.
    """

    by: str
    seconds: float
    tests: int
    test: str = ""
    late: bool = False


class Stages:
    """The stages of one room in a tree: each collected once, while mutants of the room are tried."""

    def __init__(
        self, tree: Path, folder: Path, most: float = math.inf, *, alone: bool = False
    ) -> None:
        """Keep what is known of tests in ``folder``; of those that can find a mutant run what takes ``most`` seconds.

        ``alone`` says that no other run is beside this one: a test that does not end then hangs.
        """
        self._tree, self._folder, self._most, self._alone = tree, folder, most, alone
        self._warm: dict[Stage, tuple[Warm, Baseline]] = {}
        self._trusted: set[str] = set()

    def close(self) -> None:
        """End the processes."""
        for warm, _ in self._warm.values():
            warm.close()
        self._warm.clear()

    def ready(self, stage: Stage) -> Baseline:
        """Collect and record the tests of a stage with nothing planted, or find what is known."""
        if stage not in self._warm:
            warm = Warm(self._tree, stage, self._folder / f"{self._tree.name}.log")
            name = hashlib.sha256(repr(stage).encode()).hexdigest()[:12]
            quick = self._most < math.inf
            kept = self._folder / f"baseline-{name}{'-quick' if quick else ''}.json"
            known = _baseline(warm, kept, QUICK if quick else None)
            self._warm[stage] = warm, known
        return self._warm[stage][1]

    def first_failure(self, stage: Stage, mutant: Mutant, before: str, *, whole: bool) -> Outcome:
        """Run what can find the mutant that is planted in the tree, until a test fails."""
        warm, known = self._warm[stage]
        left = self._most
        names = known.able("" if whole else mutant.path, mutant.edit)
        names = [n for n in names if (left := left - known.tests[n].seconds) > 0]
        if not names:
            return Outcome("", 0.0, 0)
        if mutant.path.endswith(".py") and not known.at_import(mutant.path, mutant.edit):
            outcome = self._ended(warm, known, names, mutant.path, before)
            if outcome:
                return outcome
        return self._anew(stage, known, names)

    def _ended(
        self, warm: Warm, known: Baseline, names: list[str], path: str = "", before: str = ""
    ) -> Outcome | None:
        """Run tests until one fails; None where the fault cannot be planted in memory.

        What does not end in time has an outcome only of a run that is alone: there the test that was under way is
        given :data:`HANGS` times as long by itself, and found to hang, or to have been slow.
        """

        def limit(chosen: list[str], times: float = SLOWER) -> float:
            return LIMIT + times * sum(known.tests[name].seconds for name in chosen)

        seconds, left = 0.0, names
        while left:
            ended = warm.run(Request(left, limit(left), path, before))
            if ended.unable:
                return None
            outcome, seconds = _outcome(ended, names), seconds + ended.seconds
            if not outcome.late or not self._alone:
                return replace(outcome, seconds=seconds)
            stuck = outcome.test or next((n for n in left if n not in ended.tests), left[0])
            ended = warm.run(Request([stuck], limit([stuck], HANGS), path, before))
            outcome, seconds = _outcome(ended, names), seconds + ended.seconds
            if outcome.late:
                return Outcome(f"HANGS {stuck}"[:200], seconds, len(names), stuck)
            if outcome.by:
                return replace(outcome, seconds=seconds)
            left = left[left.index(stuck) + 1 :]
        return Outcome("", seconds, len(names))

    def trusts(self, stage: Stage, test: str) -> bool:
        """Tell whether a test that has found a mutant passes by itself, with nothing planted; one that does not is left out."""
        warm, known = self._warm[stage]
        if test in known.tests and test not in self._trusted:
            ended = warm.run(Request([test], LIMIT + SLOWER * known.tests[test].seconds))
            if not ended.tests.get(test, {}).get("passed"):
                known.tests[test].passed = False
                return False
            self._trusted.add(test)
        return True

    def _anew(self, stage: Stage, known: Baseline, names: list[str]) -> Outcome:
        """Collect the files of some fast tests anew, and run them; then those of all."""
        seconds, tests, late = 0.0, 0, False
        few = _few(known, names)
        for chosen in (few, [name for name in names if name not in set(few)]):
            if not chosen:
                continue
            files = list(dict.fromkeys(map(_file, chosen)))
            log = self._folder / f"{self._tree.name}-anew.log"
            patience = COLLECTING * (HANGS if self._alone else 1)
            try:
                with Warm(self._tree, stage, log, tests=files, patience=patience) as warm:
                    outcome = self._ended(warm, known, chosen) or Outcome("", 0.0, 0)
            except TimeoutError:
                outcome = Outcome("", 0.0, 0, late=True)
            except RuntimeError as error:
                outcome = Outcome(str(error).replace("\n", " ")[:200], 0.0, 0)
            seconds, tests = seconds + outcome.seconds, tests + outcome.tests
            late = late or outcome.late
            if outcome.by:
                return Outcome(outcome.by, seconds, tests, outcome.test)
        return Outcome("", seconds, tests, late=late)


def _few(known: Baseline, names: list[str]) -> list[str]:
    """Return the tests of the three files with the most fast ones among ``names``."""
    fast: dict[str, int] = {}
    for name in names:
        file = _file(name)
        fast[file] = fast.get(file, 0) + (known.tests[name].seconds < 0.5)
    files = set(sorted(fast, key=lambda file: -fast[file])[:3])
    return [name for name in names if _file(name) in files]


def _outcome(ended: Ended, names: list[str]) -> Outcome:
    by = ended.failed[:200]
    late = _GIVEN_UP.search(by) is not None or not by and ended.status is None
    if late:
        by = ""
    elif not by and ended.status not in (0, 5):
        status = ended.status or 0
        by = f"signal {-status}" if status < 0 else f"pytest ends with {status}"
    return Outcome(by, ended.seconds, len(names), ended.test, late)


def _baseline(warm: Warm, kept: Path, each: float | None) -> Baseline:
    """Run all tests of a stage and record what they do; as ``kept`` has it where source and tests are the same.

    What takes more than ``each`` seconds is given up, and finds nothing.
    """
    digest, files = _digests(warm.tree, warm.stage)
    found: dict[str, Witness] = {}
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = json.loads(kept.read_text(encoding="utf-8"))
        if data["digest"] == digest:
            found = {
                name: Witness(t["seconds"], t["passed"], t["starts"], _lines(t["lines"]))
                for name, t in data["tests"].items()
                if data["files"].get(_file(name)) == files.get(_file(name))
            }
    found = {name: found[name] for name in warm.names if name in found}
    new = [name for name in warm.names if name not in found]
    if not new:
        return Baseline(found, warm.imported)
    recorded = warm.run(Request(new, BASELINE, records=True, each=each))
    if not recorded.tests:
        raise RuntimeError(f"{warm.stage.tests} end with {recorded.status} as they are")
    for name, told in recorded.tests.items():
        found[name] = Witness(
            told.get("seconds", 0.0),
            told.get("passed", False),
            told.get("starts", False),
            _lines(told.get("lines", {})),
        )
    # Some cannot bear to be looked at, and can find what they see all the same.
    again = [name for name in new if name not in found or not found[name].passed]
    again = [n for n in again if not each or n not in found or found[n].seconds < each]
    passed = _passed(warm, again)
    for name in again:
        one = found.setdefault(name, Witness())
        one.passed, one.starts = name in passed, True
    failing = [name for name, test in found.items() if not test.passed]
    if len(failing) > len(found) / 2:
        raise RuntimeError(f"{len(failing)} of {len(found)} tests fail as they are: {failing[:5]}")
    tests = {
        name: {**asdict(test), "lines": {path: f"{bits:x}" for path, bits in test.lines.items()}}
        for name, test in found.items()
    }
    body = {"digest": digest, "files": files, "tests": tests}
    kept.write_text(json.dumps(body), encoding="utf-8")
    return Baseline(found, warm.imported)


def _passed(warm: Warm, names: list[str]) -> set[str]:
    """Run tests plainly, all of them, whichever fails; return those that pass."""
    found: set[str] = set()
    left = names
    while left:
        ended = warm.run(Request(left, BASELINE))
        found.update(name for name, test in ended.tests.items() if test.get("passed"))
        # The one that ended it by a signal, or by failing, is the first that is not known.
        known = [name in ended.tests for name in left]
        left = left[max(known.count(True), 1) :]
    return found


def _file(name: str) -> str:
    return name.split("::")[0]


def _lines(told: dict[str, str]) -> Lines:
    return {path: int(bits, 16) for path, bits in told.items()}


def _digests(tree: Path, stage: Stage) -> tuple[str, dict[str, str]]:
    """Name the state of the sources and of what tests share, and that of each file of tests."""
    shared = hashlib.sha256(repr((stage, sys.version)).encode())
    files: dict[str, str] = {}
    paths = {*(tree / "tests").glob("*.py")}
    for place in ("tdev_core", "generated", *(_file(test) for test in stage.tests)):
        paths |= {tree / place} if (tree / place).is_file() else set((tree / place).rglob("*"))
    for path in sorted(paths):
        if path.suffix in (".py", ".c", ".toml") and "__pycache__" not in path.parts:
            if path.name.startswith("test_"):
                name = path.relative_to(tree).as_posix()
                files[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                shared.update(path.read_bytes())
    return shared.hexdigest(), files
