"""Annotations and values read the same whatever Python, typing module or style wrote them."""

from __future__ import annotations

import collections.abc
import enum
import math
import typing
from typing import Any, Literal, Optional, Union

import pytest

from generator.facts import notation

NAMES = {
    "Optional": "typing.Optional",
    "Union": "typing.Union",
    "List": "typing.List",
    "Callable": "typing.Callable",
    "Literal": "typing_extensions.Literal",
    "Annotated": "typing.Annotated",
    "Self": "typing_extensions.Self",
    "Tensor": "torch.Tensor",
    "t": "typing",
    "t.Optional": "typing.Optional",
    "Any": "typing.Any",
    "_int": "builtins.int",
}


def resolve(path: str) -> str:
    return NAMES.get(path, path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Optional[int]", "int | None"),
        ("t.Optional[Tensor]", "torch.Tensor | None"),
        ("Union[int, str, None]", "int | str | None"),
        ("int | None | int", "int | None"),
        ("Optional[Union[int, Optional[str]]]", "int | str | None"),
        ("'Optional[Tensor]'", "torch.Tensor | None"),
        ("List['Tensor']", "list[torch.Tensor]"),
        ("Callable[[Tensor, int], Optional[Tensor]]", "collections.abc.Callable[[torch.Tensor, int], torch.Tensor | None]"),
        ("Callable[..., Any]", "collections.abc.Callable[..., typing.Any]"),
        ("Literal['a | b', \"Tensor\", 1, None]", "typing.Literal['a | b', 'Tensor', 1, None]"),
        ("Annotated[Optional[int], 'note']", "typing.Annotated[int | None, 'note']"),
        ("tuple[()]", "tuple[()]"),
        ("tuple[int, ...]", "tuple[int, ...]"),
        ("_int", "int"),
        ("Self", "typing_extensions.Self"),
        ("not valid (", "not valid ("),
    ],
)  # fmt: skip
def test_text_is_written_in_one_notation(text: str, expected: str) -> None:
    assert notation.from_text(text, resolve) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Optional[int], "int | None"),  # noqa: UP045
        (int | None, "int | None"),
        (Union[int, str], "int | str"),  # noqa: UP007
        (None, "None"),
        (type(None), "None"),
        (typing.List[int], "list[int]"),  # noqa: UP006
        (list[int], "list[int]"),
        (typing.Callable[[int], str], "collections.abc.Callable[[int], str]"),
        (collections.abc.Callable[..., str], "collections.abc.Callable[..., str]"),
        (Literal["x", 2], "typing.Literal['x', 2]"),
        (Any, "typing.Any"),
        (typing.ForwardRef("Tensor"), "torch.Tensor"),
        ("Optional[Tensor]", "torch.Tensor | None"),
    ],
)
def test_live_annotations_read_like_text(value: object, expected: str) -> None:
    assert notation.from_object(value, resolve) == expected


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1e-05, "1e-05"),
        ((1,), "(1,)"),
        ([1, "a"], "[1, 'a']"),
        (math.nan, None),
        (math.inf, None),
        (object(), None),
        ([object()], None),
        (int, "int"),
    ],
)
def test_only_values_without_an_address_have_text(value: object, expected: str | None) -> None:
    assert notation.value_text(value, resolve) == expected


def test_an_enum_member_is_its_path_and_not_its_repr() -> None:
    assert notation.value_text(Colour.RED, resolve) == f"{__name__}.Colour.RED"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-5", "1e-5"),
        ('"cuda"', '"cuda"'),
        ("Tensor", "torch.Tensor"),
        ("f(Tensor, x=1)", "f(torch.Tensor, x=1)"),
        ("lambda Tensor: Tensor", "lambda Tensor: Tensor"),
        ("[Tensor for Tensor in xs]", "[Tensor for Tensor in xs]"),
        ("t.Optional", "typing.Optional"),
        ("List", "typing.List"),  # a value stays the object that it is
    ],
)
def test_defaults_keep_their_text_and_get_full_paths(text: str, expected: str) -> None:
    assert notation.default_text(text, resolve) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (int | None, True),
        (list[int], True),
        (typing.TypeVar("T"), True),
        (Literal[1], True),
        (int, False),
        (Colour, False),
        (Colour.RED, False),
    ],
)
def test_aliases_are_told_from_classes(value: object, expected: bool) -> None:
    # Python 3.10 says that list[int] is a type; 3.11 makes Any a class: names decide about Any.
    assert notation.is_alias(value) is expected


def test_a_union_is_not_split_inside_brackets_or_quotes() -> None:
    assert notation.split_top("a[b | c] | 'd | e' | f", " | ") == ["a[b | c]", "'d | e'", "f"]
