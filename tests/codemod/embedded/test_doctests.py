"""Examples in docstrings: listed with ``--docs``, and left as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import Ran

SOURCE = '''\
def moved(x):
    """Move it.

    >>> x = torch.ones(2, device="cuda")
    >>> torch.cuda.Stream().query()
    True
    >>> with scope():
    ...     moved(x.cuda())
    >>> moved("cpu")
    """
    return x


# torch.cuda outside an example
'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_examples_are_listed(place: Path, codemod: Callable[..., Ran], end: str) -> None:
    raw = SOURCE.replace("\n", end).encode()
    (place / "a.py").write_bytes(raw)
    assert codemod("--check", "a.py").out == ""
    ran = codemod("--check", "--docs", "a.py")
    told = [line.split(" an example")[0] for line in ran.out.splitlines()]
    assert ran.status == 0, "notes are no cause to fail"
    assert told == [
        'a.py:4:34 doctest `"cuda"`:',
        "a.py:5:9 doctest `torch.cuda.Stream`:",
        "a.py:8:20 doctest `cuda`:",
    ]
    assert codemod("--force", "--docs", "a.py").status == 0
    assert (place / "a.py").read_bytes() == raw
