"""Wrappers of methods: they end in any order, and what others have put around them stays."""

from __future__ import annotations

import functools
from typing import Any

from tdev_core.measure.wrapping import wrap


class Base:
    def name(self) -> str:
        return "plain"


def marked(letter: str) -> Any:
    return lambda plain, this: f"{letter}({plain(this)})"


def test_wrappers_end_in_any_order() -> None:
    for order in ((0, 1), (1, 0)):
        kind = type("Kind", (Base,), {})
        undo = [wrap(kind, "name", marked(letter)) for letter in "ab"]
        assert kind().name() == "b(a(plain))"
        undo[order[0]]()
        assert kind().name() == ("b(plain)", "a(plain)")[order[0]]
        undo[order[1]]()
        assert "name" not in vars(kind), "it is inherited again"


def test_what_others_have_put_around_it_stays() -> None:
    class Kind(Base):
        def name(self) -> str:
            return "own"

    undo = wrap(Kind, "name", marked("a"))
    inner = Kind.name

    @functools.wraps(inner)  # which takes its attributes over, too
    def around(this: Kind) -> str:
        return f"theirs({inner(this)})"

    setattr(Kind, "name", around)  # noqa: B010 - for a type checker it is no method of this class
    assert Kind().name() == "theirs(a(own))"
    undo()
    assert Kind.__dict__["name"] is around and Kind().name() == "theirs(own)"
