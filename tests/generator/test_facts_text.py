"""Docstrings, source files and stubs are reduced to what the facts need."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.facts import docs, sources
from generator.facts.stubs import Stub


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        (None, ""),
        ("", ""),
        ("One line", "One line"),
        ("First sentence. Second.", "First sentence."),
        ("\n    Spread over\n    two lines.\n\n    More.", "Spread over two lines."),
        ("add(input, other) -> Tensor\n\nAdds things. More.", "Adds things."),
        ("add(input,\n    other) -> Tensor\nAdds things.", "Adds things."),
        (".. note:: beware\n\nReal text.", "Real text."),
        ("Title\n=====\n\nText.", "Title"),
        ("Uses e.g. a list. Then more.", "Uses e.g. a list."),
        ("Version 2.5 is new. More.", "Version 2.5 is new."),
    ],
)
def test_summary_is_the_first_sentence(doc: str | None, expected: str) -> None:
    assert docs.summary(doc) == expected


def test_a_long_summary_ends_at_a_word() -> None:
    found = docs.summary("word " * 200)
    assert len(found) <= 302 and found.endswith("word …")


def test_deprecation_is_read_from_the_mark_the_directive_and_the_summary() -> None:
    def marked() -> None: ...
    def told() -> None:
        """Do it.

        .. deprecated:: 2.1
            Use the other.
        """

    def says() -> None:
        """This function is deprecated. Do not use."""

    def fine() -> None:
        """Do it. Nothing else here is deprecated."""

    marked.__dict__["__deprecated__"] = "use\n  that"
    assert docs.deprecation(marked) == "use that"
    assert docs.deprecation(told) == "Use the other."
    assert docs.deprecation(says) == "This function is deprecated."
    assert docs.deprecation(fine) is None


def test_a_class_does_not_inherit_deprecation_or_docstring() -> None:
    class Base:
        """Base text."""

        __deprecated__ = "gone"

    class Child(Base):
        pass

    assert docs.deprecation(Base) == "gone"
    assert docs.deprecation(Child) is None
    assert docs.own_doc(Child) is None


SOURCE = """
import numpy as np
from os import path as p
from .near import thing
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from far import Ghost
try:
    import fast
except ImportError:
    fast = None
ALIAS = thing
COUNT: int = 3
if COUNT:
    ONLY = 1

@decorator
@other
def f(a, b=1e-5, *, c="é" + "x", d=(1,
        2)): ...

class C:
    def f(self): ...
"""


@pytest.fixture
def source(tmp_path: Path) -> sources.ModuleSource:
    path = tmp_path / "mod.py"
    path.write_text(SOURCE, encoding="utf-8")
    return sources.read("pkg.mod", path, is_package=False)


def test_names_are_followed_to_where_the_text_says(source: sources.ModuleSource) -> None:
    found = {
        name: source.origin(name) for name in ("np", "p", "thing", "Ghost", "f", "ALIAS", "no")
    }
    assert found == {
        "np": "numpy",
        "p": "os.path",
        "thing": "pkg.near.thing",
        "Ghost": "far.Ghost",
        "f": "pkg.mod.f",
        "ALIAS": "pkg.mod.ALIAS",
        "no": None,
    }


def test_a_function_is_found_by_the_line_of_its_first_decorator(
    source: sources.ModuleSource,
) -> None:
    line = SOURCE.split("\n").index("@decorator") + 1
    node = source.by_line[line, "f"]
    texts = [
        source.segment(default)
        for default in (*node.args.defaults, *node.args.kw_defaults)
        if default
    ]
    assert texts == ["1e-5", '"é" + "x"', "(1, 2)"]  # fmt: skip


def test_conditions_are_kept_with_the_names_they_guard(source: sources.ModuleSource) -> None:
    assert source.conditions["ONLY"] == {"if COUNT"}
    assert source.conditions["Ghost"] == {"if TYPE_CHECKING"}
    assert source.conditions["fast"] == {"try (except ImportError)", "except ImportError"}
    assert "COUNT" in source.unconditional


@pytest.mark.parametrize(
    ("level", "target", "package", "expected"),
    [
        (0, "x.y", False, "x.y"),
        (1, "z", False, "a.b.z"),
        (1, "z", True, "a.b.c.z"),
        (2, "z", False, "a.z"),
        (1, None, False, "a.b"),
    ],
)
def test_relative_imports_become_absolute(
    level: int, target: str | None, package: bool, expected: str
) -> None:
    assert sources.absolute("a.b.c", package, level, target) == expected


STUB = """
from typing import overload
from torch.types import _int as I
@overload
def add(input: Tensor, *, alpha: I = 1, out: Tensor | None = None) -> Tensor: ...
@overload
def add(self: Tensor, /, *args: I, **kw) -> Tensor: ...
class Box(Base):
    @overload
    def to(self, device: Device = ...) -> Box: ...
    @overload
    def to(self, other: Box) -> Box: ...
    @staticmethod
    def make(n: I) -> Box: ...
"""


def test_stub_overloads_keep_kinds_defaults_and_order(tmp_path: Path) -> None:
    path = tmp_path / "m.pyi"
    path.write_text(STUB)
    stub = Stub("pkg.m", path)
    first, second = (
        stub.signature(item, lambda name: stub.names.origin(name) or name, bound=False)
        for item in stub.functions["add"]
    )
    assert [(p.name, p.kind, p.default, p.annotation) for p in first.parameters] == [
        ("input", "positional_or_keyword", None, "Tensor"),
        ("alpha", "keyword_only", "1", "torch.types._int"),
        ("out", "keyword_only", "None", "Tensor | None"),
    ]
    assert [(p.name, p.kind) for p in second.parameters] == [
        ("self", "positional_only"),
        ("args", "var_positional"),
        ("kw", "var_keyword"),
    ]


def test_stub_methods_lose_self_and_static_ones_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.pyi"
    path.write_text(STUB)
    stub = Stub("pkg.m", path)
    box = stub.classes["Box"]
    read = [
        stub.signature(item, str, bound=True) for item in (*box.methods["to"], *box.methods["make"])
    ]
    assert [[p.name for p in item.parameters] for item in read] == [["device"], ["other"], ["n"]]  # fmt: skip
    assert box.bases == ("Base",)
