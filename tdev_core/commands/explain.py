"""``python -m tdev explain TDEV101``: what the number of an error or a warning means, and what to do."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from tdev_core.commands.codes import CODES, Code
from tdev_core.commands.saying import say

__all__ = ["main"]

USAGE = """\
usage: python -m tdev explain [CODE ...]

What the number at the end of an error or a warning means, and what to do: TDEV101, or 101. Without one, the list.
"""
_WIDTH = 100


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status: 2 for a number that does not exist."""
    if argv and argv[0] in ("-h", "--help"):
        say(USAGE.rstrip())
        return 0
    if not argv:
        say("\n".join(f"{one.number}  {one.kind:<17} {one.title}" for one in CODES.values()))
        return 0
    options = [word for word in argv if word.startswith("-")]
    if options:
        print(f"tdev explain: unknown option {options[0]}\n\n{USAGE.rstrip()}", file=sys.stderr)
        return 2
    asked = [_number(word) for word in argv]
    unknown = [
        word if word.strip() else repr(word)
        for word, number in zip(argv, asked, strict=True)
        if number not in CODES
    ]
    if unknown:
        print(
            f"tdev explain: {', '.join(unknown)}: no error and no warning has this number. Numbers are TDEV101 to "
            f"{max(CODES)}; python -m tdev explain lists them.\n",
            end="",
            file=sys.stderr,
        )
        return 2
    say("\n\n".join(_page(CODES[number]) for number in asked))
    return 0


def _number(word: str) -> str:
    word = word.strip("[],.;:").upper()  # as it is copied from the end of a message
    return word if word.startswith("TDEV") else f"TDEV{word}"


def _page(code: Code) -> str:
    head = f"{code.number}: {code.title} ({code.kind})"
    return "\n\n".join([head, *(textwrap.fill(text, _WIDTH) for text in (code.means, code.remedy))])
