"""Which files are looked at."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.config import Settings
from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.files.discovery import discover
from tdev_core.codemod.model import Kind


def tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text("x = 1\n")


def shown(place: Path, *paths: str, **settings: object) -> list[str]:
    found = discover(list(paths) or ["."], Settings(base=place, **settings))  # type: ignore[arg-type]
    return [item.shown.replace(os.sep, "/") for item in found if not item.skip]


def test_python_notebooks_and_stubs_in_order(place: Path) -> None:
    tree(place, "b.py", "a/z.py", "a/b.pyi", "n.ipynb", "README.md", "data.txt", "a/c.pyc", "A.PY")
    assert shown(place) == ["A.PY", "a/b.pyi", "a/z.py", "b.py", "n.ipynb"]
    assert shown(place, docs=True)[1] == "README.md"
    kinds = [item.kind for item in discover(["n.ipynb", "b.py"], Settings(base=place))]
    assert kinds == [Kind.NOTEBOOK, Kind.PYTHON]


def test_directories_that_nobody_wants_rewritten(place: Path) -> None:
    tree(place, ".git/x.py", ".venv/x.py", "node_modules/x.py", "build/lib/x.py", "dist/x.py")
    tree(place, "__pycache__/x.py", "lib/site-packages/x.py", "my env/pyvenv.cfg", "my env/x.py")
    tree(place, "pkg/build/__init__.py", "pkg/build/x.py", "a.py")
    assert shown(place) == ["a.py", "pkg/build/__init__.py", "pkg/build/x.py"]


def test_gitignore_files_nest_and_take_back(place: Path) -> None:
    tree(place, ".git/info/", "a.py", "gen_a.py", "sub/gen_b.py", "sub/keep.py", "out/x.py", "o.py")
    (place / ".gitignore").write_text("gen_*.py\n/out/\nkeep.py\n")
    (place / "sub" / ".gitignore").write_text("!gen_b.py\n")
    (place / ".git" / "info" / "exclude").write_text("o.py\n")
    assert shown(place) == ["a.py", "sub/gen_b.py"]
    # The patterns above a given directory hold in it, too.
    assert shown(place, "sub") == ["sub/gen_b.py"]
    os.chdir(place / "sub")
    assert shown(place, ".") == ["gen_b.py"]


def test_a_linked_work_tree_has_its_excludes_in_the_common_directory(place: Path) -> None:
    tree(place, "main/.git/info/", "main/.git/worktrees/w/", "w/a.py", "w/o.py")
    (place / "main/.git/info/exclude").write_text("o.py\n")
    (place / "main/.git/worktrees/w/commondir").write_text("../..\n")
    (place / "w/.git").write_text(f"gitdir: {place}/main/.git/worktrees/w\n")
    assert shown(place, "w") == ["w/a.py"]


def test_a_repository_inside_another_has_its_own_rules(place: Path) -> None:
    tree(place, ".git/", "inner/.git/", "inner/a.py", "a.py")
    (place / ".gitignore").write_text("a.py\n")
    assert shown(place) == ["inner/a.py"]


def test_what_is_named_is_meant(place: Path) -> None:
    tree(place, ".git/", "out/x.py", "build/y.py", "script")
    (place / ".gitignore").write_text("out/\n")
    assert shown(place) == []
    assert shown(place, "out/x.py", "out", "build", "script") == [
        "out/x.py",
        "build/y.py",
        "script",
    ]


def test_the_users_patterns(place: Path) -> None:
    tree(place, "a.py", "vendor/b.py", "tests/test_c.py", "run.pyw", "tests/data.py")
    assert shown(place, exclude=("vendor/", "test_*")) == ["a.py", "run.pyw", "tests/data.py"]
    assert shown(place, "vendor/b.py", "vendor", exclude=("vendor/",)) == []
    assert shown(place, include=("*.pyw",)) == ["run.pyw"]
    assert shown(place, include=("/tests/**",)) == ["tests/data.py", "tests/test_c.py"]
    taken_back = shown(place, "tests", exclude=("/tests/*", "!/tests/data.py"))
    assert taken_back == ["tests/data.py"]


def test_every_file_comes_once(place: Path) -> None:
    tree(place, "a/b.py")
    assert shown(place, "a", "a/b.py", "./a", str(place / "a")) == ["a/b.py"]


def test_links_are_not_followed_out(place: Path) -> None:
    tree(place, "src/a.py", "other/b.py", "other/deep/c.py")
    (place / "src/in.py").symlink_to("a.py")
    (place / "src/out.py").symlink_to("../other/b.py")
    (place / "src/loop").symlink_to(".")
    (place / "src/deep").symlink_to("../other/deep")
    assert shown(place, "src") == ["src/a.py"]
    assert shown(place, "src/in.py", "src") == ["src/a.py"]
    [named] = discover(["src/out.py"], Settings(base=place))
    assert "name the file it leads to" in named.skip and "b.py" in named.skip
    (place / "linked").symlink_to("src")  # a directory that is named is meant
    assert shown(place, "linked") == ["linked/a.py"]


def test_a_link_that_leads_nowhere(place: Path) -> None:
    (place / "gone.py").symlink_to("nothing.py")
    assert shown(place) == []
    with pytest.raises(UsageError, match="leads nowhere"):
        discover(["gone.py"], Settings(base=place))


def test_documents_need_to_be_asked_for(place: Path) -> None:
    tree(place, "README.md")
    [found] = discover(["README.md"], Settings(base=place))
    assert "--docs" in found.skip
    [found] = discover(["README.md"], Settings(base=place, docs=True))
    assert found.kind is Kind.DOCS and not found.skip


def test_what_is_not_there_is_an_error_before_anything_else(place: Path) -> None:
    tree(place, "a.py")
    with pytest.raises(UsageError, match="no such file or directory: b.py, c"):
        discover(["a.py", "b.py", "c"], Settings(base=place))
    os.mkfifo(place / "pipe.py")
    with pytest.raises(UsageError, match="neither a file nor a directory"):
        discover(["pipe.py"], Settings(base=place))
    assert shown(place) == ["a.py"]


def test_names_with_spaces_umlauts_and_bytes(place: Path, git: Callable[..., None]) -> None:
    tree(place, "mein code/größe.py")
    odd = os.fsdecode(b"odd\xff.py")
    (place / odd).write_text("x = 1\n")
    git("init", "-q")
    assert shown(place) == ["mein code/größe.py", odd]
