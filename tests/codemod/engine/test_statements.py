"""What a name is called by, whatever stands around it."""

from __future__ import annotations

import ast

import pytest

from tdev_core.codemod.engine.python.statements import last_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Trainer", "Trainer"),
        ("pkg.Trainer", "Trainer"),
        ("pkg.Trainer[Config, Model]", "Trainer"),
        ("rows[0].device", "device"),
        ("MetaTensor([]).copied", "copied"),
        ("MetaTensor([])", ""),
        ("'Trainer'", ""),
    ],
)
def test_the_last_of_a_dotted_name(text: str, name: str) -> None:
    """A piece of source text among names stopped a whole run, which made a pattern of it."""
    assert last_name(ast.parse(text, mode="eval").body) == name
