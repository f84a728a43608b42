"""Say what was found, and how far reading has come."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from generator.facts.model import Facts
from generator.facts.walk import Progress

_EXPECTED_MODULES = 840  # only to draw a bar before the number is known


def counts(facts: Facts) -> dict[str, int | str | dict[str, int]]:
    """Numbers that describe a ``Facts`` value, by label, in the order to print them."""
    return {
        "torch": facts.torch,
        "modules": len(facts.modules),
        "members": len(facts.members),
        "  under paths": sum(len(item.exports) for item in facts.members),
        "  by kind": dict(Counter(item.kind for item in facts.members).most_common()),
        "  signature from": dict(Counter(item.source for item in facts.members).most_common()),
        "  from outside torch": sum(item.helper for item in facts.members),
        "  deprecated": sum(item.deprecated is not None for item in facts.members),
        "methods taking devices": len(facts.methods),
        "  without a decision": sum(bool(item.undecided) for item in facts.methods),
        "operators": len(facts.operators),
        "differences": len(facts.differences),
    }


@contextlib.contextmanager
def progress_bar(stream: TextIO) -> Iterator[Progress | None]:
    """Show a bar on a terminal, nothing elsewhere."""
    if not stream.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:<12}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("start", total=None)

        def show(stage: str, done: int, total: int) -> None:
            if stage == "import":
                total = _EXPECTED_MODULES
            bar.update(task, description=stage, completed=done, total=total or None)

        yield show
