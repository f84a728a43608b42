"""The mutation run: which faults it plants and where, that a tree is as before afterwards, and what its table tells."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

from tools.mutants import results, trees
from tools.mutants.c_operators import c_edits
from tools.mutants.operators import edits
from tools.mutants.results import Record, Results, known_equivalent, report
from tools.mutants.rooms import ROOMS, Stage
from tools.mutants.running import Baseline, Witness, baseline, first_failure
from tools.mutants.trees import Mutant, Tree, sample

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''\
"""A docstring."""
__all__ = ["f"]
LIMIT: int = 3

@cache
def kept():
    return 1

def f(a: "int", b=0):
    """Another."""
    assert a is not None
    if not a and b < 2:
        table["key"] = a + 1
    elif a:
        g(a, told=True)
    for _ in a:
        break
    raise ValueError(f"no {a}" + "words")
'''


def planted(source: str = SOURCE, **options: bool) -> set[tuple[str, str, str]]:
    return {(edit.kind, edit.before, edit.after) for edit in edits(source, **options)}


def test_every_kind_of_fault_is_planted() -> None:
    assert planted() == {
        ("off by one", "3", "4"),
        ("off by one", "1", "2"),
        ("off by one", "0", "1"),
        ("off by one", "2", "3"),
        ("answers None", "return 1", "return None"),
        ("and / or", "not a and b < 2", "(not a or b < 2)"),
        ("an operand less", "not a and b < 2", "(not a)"),
        ("an operand less", "not a and b < 2", "(b < 2)"),
        ("condition negated", "not a and b < 2", "(not (not a and b < 2))"),
        ("condition negated", "a", "(not a)"),
        ("sign or not removed", "not a", "a"),
        ("compares otherwise", "b < 2", "(b <= 2)"),
        ("statement deleted", 'table["key"] = a + 1', "pass"),
        ("other constant", '"key"', "'other key'"),
        ("computes otherwise", "a + 1", "(a - 1)"),
        ("statement deleted", "g(a, told=True)", "pass"),
        ("an argument less", "g(a, told=True)", "g(a)"),
        ("other constant", "True", "False"),
        ("break to continue", "break", "continue"),
        ("statement deleted", 'raise ValueError(f"no {a}" + "words")', "pass"),
    }


def test_faults_are_programs_and_know_their_function() -> None:
    for edit in edits(SOURCE):
        ast.parse(edit.applied(SOURCE.encode()))
        lines = SOURCE.splitlines()
        assert lines[edit.line - 1].encode().find(edit.before.splitlines()[0].encode()) >= 0
        # The answers of a cached function are seen where nobody enters it.
        assert edit.entered == (9 if edit.function == "f" and edit.before != "0" else 0)


def test_a_wrong_route_is_a_neighbours_call() -> None:
    source = "def a(x):\n    return m.one(x)\n\ndef b(x):\n    return m.two(x)\n"
    swapped = {
        ("calls a neighbour", f"m.{a}(x)", f"m.{b}(x)") for a, b in (("one", "two"), ("two", "one"))
    }
    assert planted(source, routes=True) - planted(source) == swapped


def test_faults_in_c_are_in_code() -> None:
    source = b"""\
/* a == b */
#define X (1 == 1)
static int
check(int a)
{
    log("a == b && c");
    Py_DECREF(a);
    return a == 0 && !a;
}
"""
    found = [
        (edit.kind, edit.line, edit.before.strip(), edit.after.strip()) for edit in c_edits(source)
    ]
    assert sorted(found) == [
        ("and / or", 8, "&&", "||"),
        ("compares otherwise", 8, "==", "!="),
        ("sign or not removed", 8, "!", ""),
        ("statement deleted", 7, "Py_DECREF(a);", ";"),
    ]


def test_the_sample_is_the_same_each_time_and_a_small_one_begins_a_large_one() -> None:
    whole = sum(room.drawn for room in ROOMS.values())
    assert whole >= 600
    many, few = sample(ROOT, whole, ["devices"]), sample(ROOT, 100, ["devices"])
    assert len(many) == ROOMS["devices"].drawn and many == sample(ROOT, whole, ["devices"])
    assert many[: len(few)] == few and len({mutant.key for mutant in many}) == len(many)
    for room in ROOMS.values():
        assert list(room.files(ROOT)), room
        for stage in room.stages:
            assert all((ROOT / test).exists() for test in stage.tests), stage


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small repository: one function, a test that enters it and one that does not."""
    root = tmp_path / "root"
    for name, text in {
        "tdev_core/__init__.py": "",
        "tdev_core/m.py": "def f(a):\n    return a + 1\n\ndef g(a):\n    return a * 2\n",
        "tests/test_m.py": "from tdev_core.m import f\n\ndef test_f():\n    assert f(1) == 2\n\ndef test_none():\n    pass\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return Tree(root, tmp_path / "tree")


def test_a_fault_is_found_by_the_test_that_enters_the_function(tree: Tree, tmp_path: Path) -> None:
    stage = Stage(("tests",))
    known = baseline(tree.root, stage, 60, tmp_path / "kept.json")
    # In the order of their time, which is the machine's.
    assert sorted(known.tests) == ["tests/test_m.py::test_f", "tests/test_m.py::test_none"]
    assert (tmp_path / "kept.json").exists()
    assert baseline(tree.root, stage, 0, tmp_path / "kept.json") == known  # nothing is run again
    source = (tree.root / "tdev_core/m.py").read_bytes()
    for edit in edits(source.decode()):
        mutant = Mutant("devices", "tdev_core/m.py", edit)
        names = known.able(mutant.path, edit.entered)
        assert names == (["tests/test_m.py::test_f"] if edit.function == "f" else [])
        with tree.planted(mutant):
            outcome = first_failure(tree.root, stage, known, names)
        assert outcome.by.startswith("FAILED tests/test_m.py::test_f") == (edit.function == "f")
        assert (tree.root / "tdev_core/m.py").read_bytes() == source


def test_a_wrong_route_is_in_the_catalog_too(tmp_path: Path) -> None:
    text = "def f() -> None:\n    _usage.one()\n"
    edit = next(e for e in edits(text) if e.kind == "statement deleted")
    arms = [{"backends": ["MPS"], "body": ["_usage.one()"]}]
    path = tmp_path / "catalog.json"
    path.write_text(
        json.dumps({"mirrors": {"torch.cuda": {"definitions": [{"name": "f", "arms": arms}]}}})
    )
    trees._into_catalog(path, Mutant("emitted", "generated/tdev/cuda/__init__.py", edit))
    (found,) = json.loads(path.read_text())["mirrors"]["torch.cuda"]["definitions"]
    assert found["arms"][0]["body"] == ["pass"]


def test_tests_that_only_start_processes_are_tried_for_a_while() -> None:
    tests = {
        "a": Witness(1, starts=True),
        "b": Witness(15, starts=True),
        "c": Witness(9, starts=True),
        "d": Witness(1),
    }
    known = Baseline({**tests, "e": Witness(1, entered=["m.py:10"])}, [])
    assert known.able("m.py", 1) == ["a", "c"]
    assert known.able("m.py", 10) == ["e", "a", "c"] == known.able("m.py", 0)
    assert known.able("m.c", 0) == [*tests, "e"]


def record(outcome: str, key: str, line: str = "-    a\n+    b") -> Record:
    diff = f"@@ -1 +1 @@\n{line}"
    return Record(key, "devices", "m.py", 1, "f", "off by one", outcome, "", 0.1, 3, diff)


def test_the_table_counts_and_asks_for_every_survivor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = Results(tmp_path / "results.jsonl")
    for number in range(12):
        kept.add(record("caught", str(number)))
    kept.add(record("survived", "s"))
    with kept.path.open("a") as file:
        file.write('{"key": "cut')
    records = list(kept.read().values())
    assert len(records) == 13
    text, good = report(records)
    assert (
        not good
        and "| devices | 13 | 12 | 0 | 1 | 92.3% |" in text
        and "`m.py:1` f: off by one" in text
    )
    listed = tmp_path / "equivalent.toml"
    monkeypatch.setattr(results, "EQUIVALENT", listed)
    listed.write_text(
        '[[mutant]]\npath = "m.py"\ndiff = """\n-  a\n+  b\n"""\nwhy = "both are one"\n'
    )
    text, good = report(records)
    assert good and "| devices | 13 | 12 | 1 | 0 | 100.0% |" in text and "both are one" in text
    listed.write_text('[[mutant]]\npath = "m.py"\ndiff = "-a"\nwhy = ""\n')
    with pytest.raises(ValueError, match="says no why"):
        known_equivalent()
