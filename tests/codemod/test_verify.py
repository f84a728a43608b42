"""What is asked of a new text before it is believed: only what an edit can have touched."""

from __future__ import annotations

import pytest

from tdev_core.codemod import verify
from tdev_core.codemod.engine import Edit, Names, Options, Result, rewrite

SOURCE = "# first\na = 1\nb = 2\ndef c():\n    return 3\nd = 4\n"
STARTS = tuple(SOURCE.index(word) for word in ("a =", "b =", "def", "d ="))


def result(*edits: tuple[str, str], source: str = SOURCE) -> Result:
    """The result of replacing texts that stand on one line."""
    code, made = source, []
    for before, after in edits:
        at = source.index(before)
        line, column = source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
        end = source.rfind("\n", 0, at + len(before))
        made.append(
            Edit(
                "any",
                line,
                column,
                line + before.count("\n"),
                at + len(before) - end,
                before,
                after,
            )
        )
        code = code.replace(before, after, 1)
    return Result(code, tuple(made), (), STARTS)


@pytest.mark.parametrize(
    ("edits", "asked"),
    [
        ([("b = 2", "b = 22")], ["b = 22\n"]),
        ([("# first", "import z")], ["import z\n"]),
        ([("return", "x = 5; return"), ("3", "33")], ["def c():\n    x = 5; return 33\n"]),
        ([("a = 1\n", "")], ["b = 2\n"]),
        ([("1", "11"), ("4", "44")], ["a = 11\n", "d = 44\n"]),
        ([("4", "(4\n)")], ["d = (4\n)\n"]),
        ([("2", "22"), ("return", "yield")], ["b = 22\n", "def c():\n    yield 3\n"]),
    ],
    ids=str,
)
def test_only_the_statements_with_edits_are_parsed(
    edits: list[tuple[str, str]], asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    once = verify._parses
    monkeypatch.setattr(verify, "_parses", lambda code: seen.append(code) or once(code))
    assert not verify.breaks(SOURCE, result(*edits))
    assert seen == asked


@pytest.mark.parametrize(
    "edits",
    [
        [("b = 2", "b = (2")],
        [("1", "1; if b"), ("4", "44")],
        [("4", "44"), ("def c()", "def c(")],
        [("2\n", "2 ")],
        [("4\n", "")],
        [("    return", "return")],
        [("1", "'''"), ("4", "''' + 1 +")],
    ],
    ids=str,
)
def test_what_does_not_parse_is_found(edits: list[tuple[str, str]]) -> None:
    assert verify.breaks(SOURCE, result(*edits))


def test_a_text_is_whole_where_its_parts_are_not() -> None:
    joined = result(("1", "(1 +"), ("b = 2", "2)"))
    assert not verify.breaks(SOURCE, joined)
    assert not verify.breaks("a = (\n", Result("b = (\n", joined.edits, ()))


def test_the_engine_says_where_statements_start() -> None:
    source = "import torch\n\nprint('a long line that says nothing')\ntorch.cuda.init()\n"
    said = rewrite(source, Names.load(), Options(), filename="f.py")
    assert said.edits and said.statements == (0, source.index("print"), source.index("torch.cuda"))
