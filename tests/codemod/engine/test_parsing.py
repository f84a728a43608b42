"""Taking positions is quick because libcst is changed for a while; nobody else sees that."""

from __future__ import annotations

import sys
import threading

import libcst as cst
import pytest
from libcst._nodes.expression import _BaseParenthesizedNode

from tdev_core.codemod.engine.analysis import parsing

TEXT = "x = (f)(a, (b), *c)[1:2]\n\n\ndef g(y: int = 3) -> str:\n    return f'{y!r}' if y else (yield)\n"
PARTS = [
    (where, name, where.__dict__.get(name))
    for where in (cst.CSTNode, _BaseParenthesizedNode, cst.SimpleWhitespace, cst.Name)
    for name in ("_codegen", "_parenthesize")
]


def test_what_another_thread_writes_meanwhile_is_written_by_libcst() -> None:
    module = cst.parse_module(TEXT)
    with parsing._Quick():
        assert module.code == TEXT
        wrapper = cst.MetadataWrapper(module)
        positions = wrapper.resolve(cst.metadata.PositionProvider)
    assert len(positions) > 20


def test_libcst_is_as_it_was_when_many_threads_have_parsed() -> None:
    found: list[object] = []

    def work() -> None:
        for _ in range(30):
            found.append(parsing.parse(TEXT)[1])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == 120 and all(one == found[0] for one in found)
    assert [(where, name, where.__dict__.get(name)) for where, name, _ in PARTS] == PARTS


@pytest.mark.parametrize("tail", ["\n\n \n", "\n \n\n  \n", "\n\t\n\t", "\n# the end\n\n  \n"])
def test_blanks_at_the_end_of_a_file_are_no_syntax_error(tail: str) -> None:
    """libcst loses some of them, and what is between the first token and the last is what counts."""
    text = f"if x:\n    f(1)\nelse:\n    y = g(2){tail}"
    module, offsets, spans = parsing.parse(text)
    call = module.body[0].orelse.body.body[0].body[0].value
    first, last = spans[call]
    assert text[offsets[first] : offsets[last]] == "g(2)"
