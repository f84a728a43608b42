"""Each of tdev's errors and warnings has a number, and each number a page that says what it means."""

from __future__ import annotations

import ast
import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdev_core import errors
from tdev_core.backend import unsupported
from tdev_core.commands.cli import main
from tdev_core.commands.codes import CODES, KINDS
from tdev_core.packages.lacking import LackingImport, LackingName, words

ROOT = Path(__file__).resolve().parents[2]
NUMBERED = {*KINDS.values(), "AbsentPackage", "LackingName", "LackingImport"}
BY_DEFAULT = {
    "unsupported": "TDEV101",
    "_unsupported": "TDEV101",
    "AbsentPackage": "TDEV110",
    "LackingImport": "TDEV103",
}
"""What gives the number itself, where its caller does not."""


def given() -> Iterator[tuple[str, str, str]]:
    """Every place that raises or warns with a numbered class: where, the class, and the number given there."""
    for path in sorted((ROOT / "tdev_core").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            where = f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
            name = ast.unparse(node.func).rpartition(".")[2]
            strings = [
                one.value
                for one in (*node.args, *(keyword.value for keyword in node.keywords))
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            number = next((one for one in strings if re.fullmatch(r"TDEV\d+", one)), "")
            number = number or BY_DEFAULT.get(name, "")
            if name in NUMBERED and not _hands_on(node):
                yield where, name, number
            elif name in ("warn_once", "warn") and len(node.args) > 1:
                category = ast.unparse(node.args[1]).rpartition(".")[2]
                if category in NUMBERED:
                    yield where, category, number
            elif name in ("unsupported", "_unsupported"):
                yield where, "UnsupportedError", number


def _hands_on(call: ast.Call) -> bool:
    """Tell whether the number is the caller's own parameter; its callers are looked at."""
    return any(isinstance(one, ast.Name) and one.id == "code" for one in call.args)


def test_whatever_is_raised_or_warned_of_has_a_number_of_its_class() -> None:
    seen = set()
    for where, category, number in given():
        assert number in CODES, f"{where}: a {category} without a number"
        known = category if category in KINDS.values() else "UnsupportedError"
        assert CODES[number].kind == known, where
        seen.add(number)
    assert seen == {*CODES}, "numbers that nothing has"


def test_the_number_ends_the_message_and_survives_a_pickle() -> None:
    with pytest.raises(errors.UnsupportedError) as caught:
        unsupported("torch.f", "it is not", "g")
    assert caught.value.code == "TDEV101" and str(caught.value).endswith("Instead: g. [TDEV101]")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.code) == (str(caught.value), "TDEV101")
    name = LackingName(words("flash_attn.x"), "TDEV103")
    module = LackingImport(words("flash_attn.x"), "flash_attn.x")
    assert str(name).endswith("[TDEV103]") and str(module).endswith("[TDEV103]")
    assert module.name == "flash_attn.x"


def test_a_warning_has_its_number_under_every_filter() -> None:
    def warned(key: str) -> None:
        errors.warn_once("folded", errors.DeviceWarning, code="TDEV301", key=key)

    with pytest.warns(errors.DeviceWarning, match=r"^folded \[TDEV301\]$") as caught:
        warned("test 1")
    warning = caught[0].message
    assert isinstance(warning, errors.DeviceWarning) and warning.code == "TDEV301"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.DeviceWarning) as raised:
            warned("test 2")
    assert raised.value.code == "TDEV301"
    assert str(errors.FallbackWarning("as a program makes one")) == "as a program makes one"


def test_a_number_is_explained_in_any_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("TDEV301", "tdev301", "301", "[TDEV301]"):
        assert main(["explain", word]) == 0
        said = capsys.readouterr().out
        assert said.startswith("TDEV301: ") and "(DeviceWarning)" in said
        assert CODES["TDEV301"].remedy.split()[0] in said


def test_without_one_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert [line[:7] for line in capsys.readouterr().out.splitlines()] == [*CODES]


def test_one_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "TDEV101", "TDEV999", "x"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("tdev explain: TDEV999, x: no ") and not said.out


@pytest.mark.parametrize(
    ("word", "said"),
    [("", "'': no error"), (" ", "' ': no error"), ("--wat", "unknown option --wat\n\nusage: ")],
)
def test_what_is_no_number_at_all_is_said_so_that_it_is_seen(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", word]) == 2
    assert capsys.readouterr().err.startswith(f"tdev explain: {said}")
