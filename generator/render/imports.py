"""Files that only import: most of what is emitted, and written as black would write it.

black reads each list of hundreds of names for nothing but to say so. The form is simple enough to be
recognised; whatever is not exactly of it is left to black.
"""

from __future__ import annotations

import keyword
import re

__all__ = ["only_imports"]

_FITS = "(?=[ -~]{1,100}$)"  # black breaks a longer line, and some letters are two columns wide
_TEXT = r'[^\s"\\](?:[^"\\\r\n]*[^\s"\\])?'  # a line of prose: nothing to strip or to escape
_NAME = rf"(?!(?:{'|'.join(keyword.kwlist)})\b)[A-Za-z_][A-Za-z_0-9]*"
_ALIAS = rf"{_NAME}(?: as {_NAME})?"
_NOTE = r"(?:  # type: ignore\[[a-z-]+(?:,[a-z-]+)*\])?"
_FROM = rf"from {_NAME}(?:\.{_NAME})* import "
_IMPORTS = rf"(?:{_FITS}{_FROM}(?:{_ALIAS}{_NOTE}|\({_NOTE}\n(?:    {_ALIAS},\n)+\))\n)+"
_INDENTED = rf"(?:{_FITS}    {_FROM}{_ALIAS}{_NOTE}\n)+"
_FILE = re.compile(
    rf"# {_TEXT}\n"
    rf'"""{_TEXT}(?:\n(?:\n?{_TEXT}\n)+)?"""\n'
    rf"\n{_IMPORTS}"
    rf"(?:\n{_FITS}if (?:not )?{_NAME}:(?:  # {_TEXT})?\n{_INDENTED}(?:else:\n{_INDENTED})?)?",
    re.MULTILINE,
)


def only_imports(text: str) -> bool:
    """Tell whether ``text`` is a comment, a docstring and imports, just as black leaves them at 100 columns."""
    return _FILE.fullmatch(text) is not None
