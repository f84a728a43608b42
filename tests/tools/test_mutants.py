"""The mutation run: which faults it plants and where, that a tree is as before afterwards, and what its table tells."""

from __future__ import annotations

import ast
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tools.mutants import results, trees
from tools.mutants.c_operators import c_edits
from tools.mutants.operators import Edit, edits
from tools.mutants.results import Record, Results, known_equivalent, report
from tools.mutants.rooms import ROOMS, Stage
from tools.mutants.running import Baseline, Stages, Witness
from tools.mutants.trees import Mutant, Tree, sample
from tools.mutants.warm import share_servers

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


def test_what_has_no_neighbour_and_what_types_are_made_of_is_left_alone() -> None:
    source = "Kind = Literal['one', 'two']\n\ndef a(x):\n    return m.one(x)\n"
    assert planted(source, routes=True) == {("answers None", "return m.one(x)", "return None")}


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


def test_a_change_elsewhere_leaves_the_sample_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = "    return a + 1 if a else b - 2\n\n"
    functions = [f"def f{number}(a, b):\n{body}" for number in range(30)]
    monkeypatch.setitem(ROOMS, "devices", replace(ROOMS["devices"], sources=("m.py",)))
    (tmp_path / "m.py").write_text("".join(functions))
    before = {mutant.key for mutant in sample(tmp_path, 820, ["devices"])}
    (tmp_path / "m.py").write_text("LIMIT = 3\n\n" + "".join(functions[1:]))
    after = {mutant.key for mutant in sample(tmp_path, 820, ["devices"])}
    assert len(before) == ROOMS["devices"].drawn and len(before & after) >= len(before) - 6


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small repository: tests that execute a line, in their process and in another, and code that none executes."""
    root = tmp_path / "root"
    for name, text in {
        "tdev_core/__init__.py": "",
        "tdev_core/m.py": """\
TOP = 3

def f(a):
    if a > 5:
        return a - 1
    return a + 1

def g(a):
    return a * 2

def h(a):
    return a * 3
""",
        "tdev_core/early.py": "def make():\n    return 7\n",
        "tests/__init__.py": "",
        "tests/conftest.py": "from tdev_core.early import make\nMADE = make()\n",
        "tests/forkserver.py": (ROOT / "tests/forkserver.py").read_text(),
        "tests/test_m.py": """\
from tdev_core.m import TOP, f
from tests.forkserver import environment, python

def test_f():
    assert f(1) == 2

def test_top():
    assert TOP == 3

def test_none():
    pass

def test_program():
    done = python("-c", "from tdev_core.m import g; assert g(2) == 4", env=environment())
    assert done.returncode == 0
""",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return Tree(root, tmp_path / "tree")


def test_a_fault_is_found_by_a_test_that_executes_its_line(tree: Tree, tmp_path: Path) -> None:
    stage = Stage(("tests",))
    stages = Stages(tree.root, tmp_path)
    share_servers(())
    try:
        known = stages.ready(stage)
        names = {name.split("::")[1]: name for name in known.tests}
        assert names.keys() == {"test_f", "test_top", "test_none", "test_program"}
        assert not any(test.starts for test in known.tests.values())  # the program has told
        early = (tree.root / "tdev_core/early.py").read_text()
        assert all(known.at_import("tdev_core/early.py", edit) for edit in edits(early))
        source = (tree.root / "tdev_core/m.py").read_bytes()
        expected = {3: [], 5: [], 6: ["test_f"], 9: ["test_program"], 12: []}
        seen = set()
        for edit in edits(source.decode()):
            mutant = Mutant("devices", "tdev_core/m.py", edit)
            able = known.able(mutant.path, edit)
            if edit.line in expected:
                assert able == [names[name] for name in expected[edit.line]], edit
            with tree.planted(mutant):
                outcome = stages.first_failure(stage, mutant, source.decode(), whole=False)
            found = outcome.by.split(" - ")[0].removeprefix("FAILED tests/test_m.py::")
            seen.add((edit.line, found))
            assert (tree.root / "tdev_core/m.py").read_bytes() == source
    finally:
        stages.close()
    # Line 1, which no test executes, is read at import: what uses it is collected anew.
    assert seen >= {(1, "test_top"), (5, ""), (6, "test_f"), (9, "test_program")}
    assert {line for line, found in seen if not found} <= {4, 5, 12}


def test_a_wrong_route_is_in_the_catalog_too(tmp_path: Path) -> None:
    text = "def f() -> None:\n    _usage.one()\n"
    edit = next(e for e in edits(text) if e.kind == "statement deleted")
    arms = [{"backends": ["MPS"], "body": ["_usage.one()"]}]
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({"definitions": {"torch.cuda:f": {"name": "f", "arms": arms}}}))
    trees._into_catalog(path, Mutant("emitted", "generated/tdev/cuda/__init__.py", edit))
    found = json.loads(path.read_text())["definitions"]["torch.cuda:f"]
    assert found["arms"][0]["body"] == ["pass"]


def test_tests_whose_programs_tell_nothing_are_tried_for_a_while() -> None:
    tests = {
        "a": Witness(1, starts=True),
        "b": Witness(15, starts=True),
        "c": Witness(9, starts=True),
        "d": Witness(1),
    }
    known = Baseline({**tests, "e": Witness(1, lines={"m.py": 1 << 10})}, {})
    edit = Edit("off by one", "f", 9, 10, 10, 10, 0, 1, "0", "1")
    assert known.able("m.py", replace(edit, first=11, last=12)) == ["a", "c"]
    assert known.able("m.py", edit) == ["e", "a", "c"]
    assert known.able("m.py", replace(edit, entered=0, first=11, last=12)) == ["e", "a", "d", "c"]
    assert set(known.able("m.c", edit)) == {*tests, "e"}


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
