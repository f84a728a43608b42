"""Make a page for each number that tdev's errors and warnings have."""

from __future__ import annotations

from pathlib import Path

from tdev_core.commands.codes import CODES, Code

__all__ = ["TARGET", "pages"]

TARGET = Path(__file__).resolve().parent.parent.parent / "docs" / "errors"


def pages(command: str) -> dict[str, str]:
    """Return all pages by file name; the index names the ``command`` that writes them."""
    every = CODES.values()
    index = [
        "# Errors and warnings",
        "",
        f"Written by `{command}`. Each of tdev's own errors and warnings ends with a number; `python -m tdev explain TDEV101`",
        "prints the page.",
        "",
        "| number | class | what it says |",
        "| --- | --- | --- |",
        *(f"| [{one.number}]({one.number}.md) | `{one.kind}` | {one.title} |" for one in every),
        "",
    ]
    return {"index.md": "\n".join(index), **{f"{one.number}.md": _page(one) for one in every}}


def _page(code: Code) -> str:
    parts = [
        f"# {code.number}: {code.title}",
        f"{'Raised' if code.kind.endswith('Error') else 'Warned of'} as `{code.kind}`.",
        code.means,
        f"## What to do\n\n{code.remedy}",
    ]
    return "\n\n".join(parts) + "\n"
