"""Docstrings, source files and stubs are reduced to what the facts need."""

from __future__ import annotations

import enum
import types
import typing
from pathlib import Path

import pytest

from generator.facts import builds, docs, members, scopes, sources
from generator.facts.library import Library
from generator.facts.model import Member
from generator.facts.origins import Origins
from generator.facts.signatures import Speller
from generator.facts.text import one_line


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
    function = source.by_line[line, "f"]
    texts = [one_line(item.default) for item in function.arguments if item.default]
    assert texts == ["1e-5", '"é" + "x"', "(1, 2)"]  # fmt: skip
    assert function.decorators == ("decorator", "other")


CALLS = """
def plain(x: Tensor, y, input):
    "Like torch.add(x, 1)."
    torch.nn.functional.pad(y)
    y.relu()
    return input.softmax(0)

def method_in_the_next_line(x: Tensor):
    return (
        x
        .exp()
    )

def function_in_the_next_line(y):
    return (torch
        .add(y, 1))

def function(y):
    return torch.linalg.svd(torch.sub(y, 1)) if y else _VF.mul(y, 2)

@torch.no_grad()
def nothing(y): ...
"""


def test_the_calls_of_a_function_are_those_that_may_be_operators() -> None:
    functions = sources.parse("m", CALLS, is_package=False).functions
    found = {name: item.calls for name, (item,) in functions.items()}
    assert found == {
        "plain": ("input.softmax",),
        "method_in_the_next_line": ("x.exp",),
        "function_in_the_next_line": ("torch.add",),
        "function": ("_VF.mul", "torch.linalg.svd", "torch.sub"),
        "nothing": (),
    }


def test_an_expression_over_several_lines_is_one_in_the_facts() -> None:
    text = "def f(a: dict[  # of what\n    str, I\n] = ('é' or  # what else\n I)): ...\nfrom t import I\n"
    source = sources.parse("m", text, is_package=False)
    ((function,),) = source.functions.values()
    signature = Speller(lambda name: source.origin(name) or name).signature(function)
    (parameter,) = signature.parameters
    assert parameter.annotation == "dict[str, t.I]"
    assert (parameter.default, parameter.default_expr) == ("'é' or I", "'é' or t.I")


SCOPE = """
from typing import TYPE_CHECKING
from .near import *
from far import *
import a.b, c as d
if TYPE_CHECKING:
    SEEN = 1
else:
    HIDDEN = 1
try:
    def f(): ...
except ImportError:
    f = g = None
if sys.platform == "win32" and a:
    WINDOWS = 1
elif sys.platform == "linux":
    LINUX = _HELPER = 1
    del _HELPER
__all__ = ["f"]
__all__ += ["g"]
"""


def scope(text: str, stub: bool = False) -> scopes.Scope:
    return sources.parse("pkg.m", text, is_package=False, stub=stub).scope


def test_a_checker_sees_what_a_file_binds() -> None:
    found = scope(SCOPE)
    assert found.names == {"TYPE_CHECKING", "a", "d", "SEEN", "f", "g", "LINUX", "__all__"}
    assert found.stars == ("pkg.near", "far")
    assert found.declared == {"f", "g"}


def test_a_stub_exports_the_imports_that_it_renames_to_themselves() -> None:
    text = "from a import x, y as y, z as w\nimport u, v as v\nq: int\n"
    assert scope(text, stub=True).names == {"y", "v", "q"}
    assert sources.parse("pkg.m", text, False, stub=True).origin("q") == "pkg.m.q"
    assert scope(text).names == {"x", "y", "w", "u", "v", "q"}


def test_stars_are_followed_and_cycles_end() -> None:
    modules = {
        "m": scope("from declares import *\nfrom tells_not import *\nmine = 1\n"),
        "declares": scope("from m import *\n__all__ = ['_a', 'lacking']\n_a = b = 1\n"),
        "tells_not": scope("c = _d = 1\n"),
    }
    assert scopes.visible("m", modules.get) == {"mine", "_a", "c"}
    assert scopes.visible("unknown", modules.get) == frozenset()


def test_conditions_are_kept_with_the_names_they_guard(source: sources.ModuleSource) -> None:
    assert source.conditions["ONLY"] == {"if COUNT"}
    assert source.conditions["Ghost"] == {"if TYPE_CHECKING"}
    assert source.conditions["fast"] == {"try (except ImportError)", "except ImportError"}
    assert "COUNT" in source.unconditional


VERSIONED = """
import sys
from functools import partial
if sys.version_info >= (3, 11):
    from enum import member, Enum
    from typing import Self
    from torch.nn import Linear
    from functools import partial
    import _thread
    NEW = 1
else:
    from typing_extensions import Self
if sys.platform == "linux":
    from os import fork
"""


def test_what_a_module_takes_from_some_pythons_only_is_not_a_fact_of_torch() -> None:
    origins = Origins(Library())
    origins.add(sources.parse("torch.m", VERSIONED, is_package=False))
    assert members._newer("torch.m", origins) == {"member", "Enum"}
    origins.add(sources.parse("torch.m", VERSIONED + "from typing import *", is_package=False))
    assert members._newer("torch.m", origins) > {"member", "Enum", "TypeIs"}


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


def stub(tmp_path: Path) -> sources.ModuleSource:
    path = tmp_path / "m.pyi"
    path.write_text(STUB)
    return sources.read("pkg.m", path, is_package=False)


def test_stub_overloads_keep_kinds_defaults_and_order(tmp_path: Path) -> None:
    read = stub(tmp_path)
    speller = Speller(lambda name: read.origin(name) or name)
    first, second = map(speller.signature, read.functions["add"])
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
    methods = stub(tmp_path).classes["Box"].methods
    read = [Speller(str).signature(item, bound=True) for item in (*methods["to"], *methods["make"])]
    assert [[p.name for p in item.parameters] for item in read] == [["device"], ["other"], ["n"]]  # fmt: skip


def test_names_that_no_program_can_write_are_none() -> None:
    module = types.ModuleType("m")
    vars(module).update({"a": 1, "_b": 2, "@pytest_ar": 3})
    assert [name for name, _ in members._attributes("m", module)] == ["a"]


def test_what_pythons_say_differently_is_said_in_one_way() -> None:
    found = members.Found(typing.Any, "torch.m.Alias", helper=False, exports=["torch.m.Alias"])
    assert members._kind(found) == "class"  # a special form in Python 3.10
    enumeration = "torch.distributed.rpc.backend_registry.BackendType"
    (same,) = builds.same_members([Member(enumeration, "class", summary="Told by Python 3.10.")])
    assert same == Member(enumeration, "class")


@pytest.mark.parametrize("more", ["", "\n.. warning::\n    This API is experimental.\n"])
def test_what_python_says_of_every_enumeration_is_nobodys_docstring(more: str) -> None:
    """Python 3.10 gives each that sentence, and torch's decorators write behind it."""

    class Told(enum.Enum):
        __doc__ = f"An enumeration.{more}"

    assert docs.summary(docs.own_doc(Told)) == docs.summary(more or None)
