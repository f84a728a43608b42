"""``[tool.tdev]``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdev_core.codemod.config import Settings, find_config, overlay, read_config
from tdev_core.codemod.errors import UsageError


def config(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "pyproject.toml"
    path.write_text(text)
    return path


def test_every_key_is_read(place: Path) -> None:
    path = config(
        place,
        '[tool.tdev]\nstyle = "alias"\ntarget = "tdev"\nannotate = true\ndocs = true\nall = true\ntests = true\npartial = true\n'
        'include = ["*.py"]\nexclude = ["vendor/"]\njobs = 3\nmax-file-size = 10\n'
        'libraries = ["accelerate"]\nkeep = ["only-cuda"]\n',
    )
    assert read_config(path) == Settings(
        place.resolve(),
        "alias",
        "tdev",
        True,
        True,
        True,
        True,
        True,
        ("*.py",),
        ("vendor/",),
        3,
        10,
        ("only-cuda",),
        ("accelerate",),
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('styel = "alias"', "unknown key 'styel'.*did you mean 'style'"),
        ("keep = ['#']", "keep is a list of comments"),
        ('colour = "red"', "unknown key 'colour'.*known keys: style"),
        ("style = 3", "style in .* must be a string"),
        ('style = "loud"', "style is one of explicit, alias, not 'loud'"),
        ('annotate = "yes"', "annotate .* true or false"),
        ('exclude = "vendor"', "exclude .* a list of strings"),
        ("jobs = true", "jobs .* a whole number"),
        ("jobs = -1", "jobs is a number of processes"),
        ("max-file-size = 0", "max-file-size"),
        ('target = "accelerator"\nstyle = "alias"', "no style 'alias'"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_key(place: Path, table: str, said: str) -> None:
    path = config(place, f"[tool.tdev]\n{table}\n")
    with pytest.raises(UsageError, match=said) as caught:
        read_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["[tool.tdev", "[tool]\ntdev = 3\n", "\udcff"])
def test_a_file_that_is_no_configuration(place: Path, text: str) -> None:
    path = place / "pyproject.toml"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(UsageError, match="pyproject.toml"):
        read_config(path)


def test_a_file_that_was_named_must_have_the_table(place: Path) -> None:
    path = config(place, "[tool.other]\n")
    assert read_config(path) == Settings(place.resolve())
    with pytest.raises(UsageError, match="no .tool.tdev. table"):
        read_config(path, required=True)


def test_the_nearest_table_counts_up_to_the_repository(place: Path) -> None:
    outer = config(place, "[tool.tdev]\n")
    config(place / "a", "[project]\n")
    inner = config(place / "a/b", "[tool.tdev]\n")
    for name in ("a/b/x.py", "a/c/y.py"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("")
    assert find_config([place / "a/b/x.py"]) == inner
    assert find_config([place / "a"]) == outer
    assert find_config([place / "a/b/x.py", place / "a/c/y.py"]) == outer
    (place / "a/.git").mkdir()
    assert find_config([place / "a/c"]) is None


def test_the_command_line_wins_and_excludes_add_up(place: Path) -> None:
    settings = Settings(place, style="alias", exclude=("a",), include=("b",), jobs=2)
    given: dict[str, object] = {
        "style": "explicit",
        "exclude": ("c",),
        "include": ("d",),
        "jobs": None,
        "paths": [],
    }
    assert overlay(settings, given) == Settings(
        place, style="explicit", exclude=("a", "c"), include=("d",), jobs=2
    )
    assert overlay(settings, {"target": "accelerator"}).style == "explicit"
    with pytest.raises(UsageError, match="alias"):
        overlay(settings, {"target": "accelerator", "style": "alias"})
