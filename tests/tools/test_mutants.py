"""The mutation run: which faults it plants and where, that a tree is as before afterwards, and what its table tells."""

from __future__ import annotations

import ast
import gc
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tools.mutants import results, trees
from tools.mutants.c_operators import c_edits
from tools.mutants.operators import Edit, edits
from tools.mutants.recoding import adopt, functions_below
from tools.mutants.results import Record, Results, known_equivalent, report, shared_record
from tools.mutants.rooms import ROOMS, Stage
from tools.mutants.running import LIMIT, Baseline, Stages, Witness, _outcome
from tools.mutants.trees import Mutant, Tree, sample
from tools.mutants.warm import Ended, Request, share_servers

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


def test_the_table_counts_and_asks_for_every_survivor(tmp_path: Path) -> None:
    kept = Results(tmp_path / "results.jsonl")
    for number in range(12):
        kept.add(record("caught", str(number)))
    kept.add(record("survived", "s"))
    with kept.path.open("a") as file:
        file.write('{"key": "cut')
    records = list(kept.read().values())
    assert len(records) == 13
    text, good = report(records, ROOT)
    assert not good and "| devices | 13 | 12 | 0 | 1 | 0 | 92.3% |" in text
    assert "`m.py:1` f: off by one" in text


def test_what_is_unknown_is_not_caught() -> None:
    records = [record("caught", str(number)) for number in range(11)]
    text, good = report([*records, record("unknown", "u")], ROOT)
    assert not good and "| all | 12 | 11 | 0 | 0 | 1 | 91.7% |" in text and "## Unknown" in text


EQUIVALENT_IN = """\
def f(a):
    if a:
        return 1
    g(a)
    if not a:
        return 1

def g(a):
    return 1
"""
LISTED = """\
[[mutant]]
path = "m.py"
function = "{function}"
diff = \"\"\"
-  return 1
+  return 2
\"\"\"
{more}
"""


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The list of mutants that change nothing, for a repository of one file."""
    (tmp_path / "m.py").write_text(EQUIVALENT_IN)
    monkeypatch.setattr(results, "EQUIVALENT", tmp_path / "equivalent.toml")
    return tmp_path / "equivalent.toml"


def test_an_equivalent_mutant_is_counted_apart(listed: Path) -> None:
    root = listed.parent
    found = {
        mutant.edit.line: mutant.key
        for mutant in trees.in_file("devices", "m.py", root)
        if (mutant.edit.before, mutant.edit.after) == ("1", "2")
    }
    assert found.keys() == {3, 6, 9}
    records = [record("caught", "c"), *(record("survived", key) for key in found.values())]
    listed.write_text(
        LISTED.format(function="g", more='why = "both are one"')
        + LISTED.format(function="f", more='beside = "if not a:"\nwhy = "so are these"')
    )
    assert known_equivalent(root) == {found[9]: "both are one", found[6]: "so are these"}
    text, good = report(records, root)
    assert not good and "| devices | 4 | 1 | 2 | 1 | 0 | 50.0% |" in text
    text, good = report([one for one in records if one.key != found[3]], root)
    assert good and "100.0%" in text and "both are one" in text and "so are these" in text


@pytest.mark.parametrize(
    ("function", "more", "refused"),
    [
        ("g", 'why = ""', "says no why"),
        ("f", 'why = "w"', "lines at which there is one that reads so: 3, 6\n"),
        ("h", 'why = "w"', "lines at which there is one that reads so: none\n"),
        ("f", 'beside = "g(b)"\nwhy = "w"', "lines at which there is one that reads so: none\n"),
    ],
)
def test_an_entry_that_is_not_one_mutant_is_refused(
    listed: Path, function: str, more: str, refused: str
) -> None:
    listed.write_text(LISTED.format(function=function, more=more))
    with pytest.raises(ValueError, match=refused):
        known_equivalent(listed.parent)


def test_an_entry_that_stands_twice_is_refused(listed: Path) -> None:
    listed.write_text("".join(LISTED.format(function="g", more=f'why = "{w}"') for w in "ab"))
    with pytest.raises(ValueError, match="stands twice"):
        known_equivalent(listed.parent)


def test_each_entry_is_one_mutant_of_the_sources() -> None:
    assert known_equivalent(ROOT)


@pytest.mark.parametrize("status", [None, 1], ids=["killed", "its own clock"])
def test_what_has_not_ended_in_time_is_no_find(status: int | None) -> None:
    words = "" if status is None else "FAILED t::b - Failed: Timeout (>600.0s) from pytest-timeout."
    found = _outcome(
        Ended(status, 3.0, failed=words, test="t::b" if words else ""), ["t::a", "t::b"]
    )
    assert found.late and not found.by
    found = _outcome(Ended(1, 3.0, failed="FAILED t::b - assert 1 == 2", test="t::b"), ["t::b"])
    assert not found.late and found.test == "t::b"


class Machine:
    """Stands in for the process that has collected the tests: ``slow`` end in the second, longer time, ``hangs`` never."""

    def __init__(self, slow: str = "", hangs: str = "", fails: str = "") -> None:
        self.slow, self.hangs, self.fails = slow, hangs, fails
        self.asked: list[tuple[list[str], float]] = []

    def run(self, request: Request) -> Ended:
        self.asked.append((request.names, request.limit))
        ended = Ended(0)
        for name in request.names:
            if name == self.hangs or name == self.slow and len(request.names) > 1:
                return replace(ended, status=None)
            ended.tests[name] = {"passed": name != self.fails}
            if name == self.fails:
                return replace(ended, status=1, failed=f"FAILED {name}", test=name)
        return ended


@pytest.mark.parametrize(
    ("machine", "alone", "by", "late"),
    [
        (Machine(slow="b"), False, "", True),
        (Machine(slow="b"), True, "", False),
        (Machine(slow="b", fails="c"), True, "FAILED c", False),
        (Machine(hangs="b", fails="c"), False, "", True),
        (Machine(hangs="b", fails="c"), True, "HANGS b", False),
    ],
)
def test_only_alone_and_in_ten_times_its_time_a_test_hangs(
    machine: Machine, alone: bool, by: str, late: bool, tmp_path: Path
) -> None:
    stages = Stages(tmp_path, tmp_path, alone=alone)
    known = Baseline({name: Witness(2.0) for name in "abc"}, {})
    found = stages._ended(machine, known, ["a", "b", "c"])  # type: ignore[arg-type]
    assert found is not None and (found.by, found.late) == (by, late)
    assert machine.asked[1:2] == ([(["b"], LIMIT + 20.0)] if alone else [])


def test_all_worktrees_continue_one_record(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    for command in (
        ["git", "init", "-q", str(root)],
        ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q"]
        + ["--allow-empty", "-m", "first"],
        ["git", "-C", str(root), "worktree", "add", "-q", str(other)],
    ):
        subprocess.run(command, check=True, capture_output=True)
    assert shared_record(root) == shared_record(other)
    assert shared_record(root).is_relative_to(root / ".git")


def test_functions_are_found_where_the_collector_was_told_to_leave_them_alone() -> None:
    gc.freeze()  # as tests/conftest.py does
    file = adopt.__code__.co_filename
    assert adopt in functions_below(str(Path(file).parent))[file]
