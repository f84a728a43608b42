"""What tools/environment.py says when it cannot set up, and what the type check leaves out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import environment, progress, typecheck


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("Retrying after connection broken by 'NewConnectionError'", "Check the network"),
        ("socket.gaierror: Temporary failure in name resolution", "Check the network"),
        ("ERROR: No matching distribution found for torch==2.13.0", "Python 3.10 to 3.13"),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("The virtual environment was not created: ensurepip is not available", "python3-venv"),
        ("something that nobody has thought of", "goes on where it stopped"),
    ],
)
def test_advice_fits_the_failure(said: str, advice: str) -> None:
    text = environment._explain(progress.StepFailed(["pip", "install"], 1, said))
    assert said in text
    assert advice in text


def test_a_failing_step_keeps_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('before'); import sys; sys.exit('broken')"]
    with pytest.raises(progress.StepFailed) as caught:
        progress.run_quietly("step", command, cwd=tmp_path)
    assert caught.value.status == 1
    assert caught.value.output.splitlines() == ["before", "broken"]


def test_a_step_returns_what_it_printed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('one'); print('two')"]
    assert progress.run_quietly("step", command, cwd=tmp_path) == "one\ntwo"


def test_an_environment_of_another_place_is_made_anew(tmp_path: Path) -> None:
    python = environment.venv_python(tmp_path / "venv")
    assert not environment._usable(python)
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)  # works, but is not the one for this place
    assert not environment._usable(python)


def test_the_fingerprint_follows_what_is_installed_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in environment.INSTALLED_FROM:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a", encoding="utf-8")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    first = environment._fingerprint()
    assert environment._fingerprint() == first
    for name in environment.INSTALLED_FROM:
        (tmp_path / name).write_text("b", encoding="utf-8")
        assert environment._fingerprint() != first
        (tmp_path / name).write_text("a", encoding="utf-8")


def test_only_stubs_beside_a_module_are_left_out(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    for name in (
        "a.py",
        "a.pyi",
        "only.pyi",
        "py.typed",
        "inner/__init__.py",
        "inner/__init__.pyi",
    ):
        (source / name).touch()
    target = tmp_path / "target"
    (target / "stale").mkdir(parents=True)
    typecheck.copy_without_stubs(source, target)
    left = {p.relative_to(target).as_posix() for p in target.rglob("*")}
    assert left == {"a.py", "only.pyi", "py.typed", "inner", "inner/__init__.py"}
