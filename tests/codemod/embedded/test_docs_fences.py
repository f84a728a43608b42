"""Python in documents."""

from __future__ import annotations

import pytest

from tdev_core.codemod import engine
from tdev_core.codemod.engine import Names, Options
from tdev_core.codemod.jobs.process import Job, process
from tdev_core.codemod.model import Kind, Outcome, Status
from tests.codemod import small_engine

NAMES = Names(frozenset(), {}, {}, frozenset(), {}, frozenset())
CALL, DONE = "torch.cuda.synchronize()", "tdev.cuda.synchronize()"


def run(document: str) -> Outcome:
    return process(Job("d.md", Kind.DOCS, document.encode(), Options()), small_engine, NAMES)


def rewritten(document: str) -> str:
    found = run(document)
    assert found.status is not Status.ERROR, found.message
    return document if found.new is None else found.new.decode()


@pytest.mark.parametrize(
    "document",
    [
        f"```python\n{CALL}\n```\n",
        f"~~~~ py\n{CALL}\n~~~\n~~~~\n".replace("~~~\n~~~~", "~~~~"),
        f"``` {{.python .numbered}}\n{CALL}\n```",
        f"```{{code-block}} python\n{CALL}\n```\n",
        f"- a list\n\n  ```python\n  if x:\n\n      {CALL}\n  ```\n",
        f"> ```python\n> {CALL}\n> ```\n",
        f"```python\r\n{CALL}\r\n```\r\n",
        f".. code-block:: python\n   :linenos:\n\n   {CALL}\n\nText.\n",
        f".. testcode::\n\n    {CALL}",
        f"Text.\n\n>>> {CALL}\n",
        f"    >>> for i in x:\n    ...     {CALL}\n    ...\n    1\n",
        f"```pycon\n>>> x = 1\n>>> {CALL}\nNone\n```\n",
        f"```python\n{CALL}",
    ],
)
def test_python_blocks_are_rewritten_in_place(document: str) -> None:
    assert rewritten(document) == document.replace(CALL, DONE)


@pytest.mark.parametrize(
    "document",
    [
        f"Call {CALL} or `{CALL}`.\n",
        f"```\n{CALL}\n```\n",
        f"```bash\npython -c 'import torch; {CALL}'\n```\n",
        f"```python\n{CALL} (\n```\n",
        f".. code-block:: bash\n\n   {CALL}\n",
        f"    {CALL}\n",
        f">>> print(x)\n{CALL}\n",
        "```python\n```\n",
    ],
)
def test_prose_output_and_other_languages_are_not(document: str) -> None:
    assert rewritten(document) == document


def test_an_import_is_added_where_torch_is_imported_and_known_further_down() -> None:
    document = f"```python\nimport torch\n```\n\nThen\n\n```python\n{CALL}\n```\n"
    assert rewritten(document) == (
        f"```python\nimport torch\nimport tdev\n```\n\nThen\n\n```python\n{DONE}\n```\n"
    )


def test_blocks_that_import_torch_stand_for_themselves() -> None:
    block = f"```python\nimport torch\n{CALL}\n```\n"
    new = f"```python\nimport torch\nimport tdev\n{DONE}\n```\n"
    assert rewritten(block + "\n" + block) == new + "\n" + new


def test_lines_added_to_a_doctest_get_a_prompt() -> None:
    document = f"  >>> import torch\n  >>> {CALL}\n  None\n"
    assert rewritten(document) == (f"  >>> import torch\n  >>> import tdev\n  >>> {DONE}\n  None\n")


def test_places_are_those_of_the_document() -> None:
    found = run(f"# Title\n\n```python\nx = 1\n{CALL}\n```\n\n  >>> import cupy, torch\n")
    assert [str(change.place) for change in found.changes] == ["5:1"]
    assert [str(remark.place) for remark in found.remarks] == ["8:14"]


def test_a_second_run_changes_nothing() -> None:
    once = rewritten(f"```python\nimport torch\n{CALL}\n```\n\n>>> import torch\n>>> {CALL}")
    assert rewritten(once) == once and DONE in once


def test_a_change_is_named_by_the_whole_name_that_it_is_a_part_of() -> None:
    found = process(
        Job(
            "d.md", Kind.DOCS, f"> ```python\n> import torch\n> {CALL}\n> ```\n".encode(), Options()
        ),
        engine,
        Names.load(),
    )
    assert [(str(c.place), c.name) for c in found.changes] == [
        ("2:10", "torch"),
        ("3:3", "torch.cuda.synchronize"),
    ]
