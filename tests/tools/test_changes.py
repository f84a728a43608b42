"""What --quick runs: the tests nearest to what was changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import changes, sessions

FILES = {
    "tdev_core/amounts.py": "",
    "tdev_core/sums.py": "from tdev_core import amounts\n",
    "tdev_core/far.py": "def f():\n    import tdev_core.sums\n",
    "tdev_core/other.py": "",
    "tests/core/test_amounts.py": "from tdev_core import (\n    errors,\n    amounts as m,\n)\n",
    "tests/core/test_far.py": "from tdev_core.far import f\n",
    "tests/core/test_sums.py": "CODE = 'import tdev; from tdev_core import sums'\n",
    "tests/core/test_other.py": "import tdev_core.other\n# amounts\n",
    "tests/core/helper.py": "import tdev_core.other\n",
    "tests/core/test_helper.py": "from helper import x\n",
    "tests/core/test_pages.py": "PAGE = 'guide.md'\n",
    "tests/core/test_mirror.py": "import tdev\n",
    "generated/tdev/__init__.py": "from tdev_core import amounts\n",
    "docs/guide.md": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("tdev_core/amounts.py", ["test_amounts", "test_sums", "test_far"]),
        ("tdev_core/other.py", ["test_other", "test_helper"]),
        ("tests/core/test_mirror.py", ["test_mirror"]),
        ("tests/core/helper.py", ["test_helper"]),
        ("docs/guide.md", ["test_pages"]),
        ("tdev_core/nobody.py", []),
    ],
)
def test_the_nearest_come_first(file: str, tests: list[str], tree: Path) -> None:
    assert [Path(test).stem for test in changes.nearest_tests(tree, [file])] == tests


def test_what_is_in_time(tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase classname="{name}" time="{time}"/>'
        for name, time in (
            ("tests.core.test_a", 4),
            ("tests.core.test_a.TestClass", 3),
            ("tests.core.test_b", 20),
            ("tests.core.test_c", 2),
        )
    )
    (tmp_path / "tests-cpu.xml").write_text(
        f"<testsuites><testsuite>{cases}</testsuite></testsuites>"
    )
    names = [f"tests/core/test_{letter}.py" for letter in "abcd"]
    a, b, c, d = names
    assert changes.within(100, names, tmp_path) == (names, [])
    assert changes.within(10, names, tmp_path) == ([a, c], [b, d])
    assert changes.within(1, names, tmp_path) == ([a], [b, c, d])
    assert changes.within(10, [d, d, d], tmp_path / "nothing") == ([d, d], [d])


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def test_what_was_changed(tree: Path) -> None:
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "first")
    assert changes.changed(tree) == []
    (tree / "tdev_core" / "amounts.py").write_text("x = 1\n")
    (tree / "tdev_core" / "new.py").touch()
    (tree / "docs" / "guide.md").unlink()
    three = ["docs/guide.md", "tdev_core/amounts.py", "tdev_core/new.py"]
    assert changes.changed(tree) == three
    git(tree, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "second")
    assert changes.changed(tree) == three  # what others do not have yet


def test_without_a_repository_nothing_was_changed(tmp_path: Path) -> None:
    assert changes.changed(tmp_path) == []


def quick(monkeypatch: pytest.MonkeyPatch, files: list[str]) -> list[list[tuple[str, ...]]]:
    monkeypatch.setattr(changes, "changed", lambda root: files)
    lanes = sessions._quick(Path("python"))
    return [[job.command[job.command.index("-s") + 1 :] for job in lane] for lane in lanes]


def test_a_change_is_checked_and_its_tests_run(monkeypatch: pytest.MonkeyPatch) -> None:
    checks, tests = quick(monkeypatch, ["tools/changes.py", "docs/guide.md", "tools/is_gone.py"])
    assert checks == [
        ("check", "--"),
        ("lint", "--", "tools/changes.py"),
        ("typecheck", "--", "tools/changes.py"),
    ]
    for name, (session, _, *rest) in zip(sessions.TESTS, tests, strict=True):
        assert session == name
        assert "tests/tools/test_changes.py" in rest and "not deep and not slow" in rest


def test_without_a_change_a_sample_of_the_tests_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    checks, ((session, _, *rest),) = quick(monkeypatch, [])
    assert checks == [("check", "--")]
    assert session == "tests(cpu)" and rest[-1].startswith("--every=")
