"""The parts of `nox -s other_torch`: no room is forgotten, and nothing that fails looks done."""

from __future__ import annotations

from pathlib import Path

from tools import rooms
from tools.rooms import Part, Result
from tools.sessions import ROOT

OWN = {"sim": "tests/accelerators/sim/suite", "mlx": "tests/accelerators/mlx"}
PYTEST = ("-m", "pytest")


def test_every_file_of_tests_is_run_once() -> None:
    """Asked of this tree: each file of tests lies in what just one part runs, and is not ignored there."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 250
    parts = [part for part in rooms.parts(ROOT / "tests", OWN, PYTEST) if part.counted]
    for file in files:
        assert sum(_runs(part, file) for part in parts) == 1, file
    assert all(any(_runs(part, file) for file in files) for part in parts)


def _runs(part: Part, file: Path) -> bool:
    words = part.arguments[len(PYTEST) :]
    ignored = [ROOT / word.partition("=")[2] for word in words if word.startswith("--ignore=")]
    given = [ROOT / word for word in words if not word.startswith("-")]
    return any(map(file.is_relative_to, given)) and not any(map(file.is_relative_to, ignored))


def test_a_new_room_is_run(tmp_path: Path) -> None:
    for name in ("b/deeper/test_one.py", "a/test_two.py", "data/one.py", "test_three.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = [part.name for part in rooms.parts(tmp_path, OWN, PYTEST)]
    assert names == ["names", "drift", "a", "b", "test_three", "sim", "mlx", "opdb"]


def test_sim_is_asked_for_where_its_tests_run() -> None:
    settings = {
        part.name: part.settings.get("TDEV_BACKEND")
        for part in rooms.parts(ROOT / "tests", OWN, PYTEST)
    }
    assert [name for name, backend in settings.items() if backend] == ["sim"]


def test_the_table(tmp_path: Path) -> None:
    """A part whose process died has no report, and a program none at all: how it ended decides."""
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2">'
        '<testcase classname="tests.a" name="test_b"><failure message="assert 1 == 2&#10;more"/></testcase>'
        "</testsuite></testsuites>"
    )
    none = tmp_path / "none.xml"
    tested = ("-m", "pytest", "tests/a")
    results = [
        Result(Part("names", ("names.py",)), True, 3.4, none),
        Result(Part("a", tested), False, 61.0, report),
        Result(Part("died", tested), False, 1.0, none),
    ]
    assert rooms.table("2.99.0", results).splitlines() == [
        "| torch 2.99.0 | | passed | failed | skipped | s |",
        "|---|---|--:|--:|--:|--:|",
        "| names | done |  |  |  | 3 |",
        "| a | failed | 5 | 2 | 2 | 61 |",
        "| died | failed | 0 | 0 | 0 | 1 |",
        "| all | failed | 5 | 2 | 2 | 65 |",
        "tests.a::test_b: assert 1 == 2",
    ]
    assert "| all | done |" in rooms.table("2.99.0", results[:1])
