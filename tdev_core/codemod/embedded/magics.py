"""Finds and masks IPython's additions to Python in a cell, to be put back as they were.

Known: ``%magic`` and ``!shell`` lines, ``?name`` and ``name?`` help lines, assignments from either
(``files = !ls``, ``t = %timeit -o f()``), lines continued with a backslash, and ``%%magic`` cells.
The cell magics in :data:`PYTHON_CELL_MAGICS` run the rest of the cell as Python in the notebook's
namespace, so that rest is rewritten; other cells with a cell magic are another language or another
process and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tdev_core.codemod.embedded.segments import Segment
from tdev_core.codemod.text import lines

PYTHON_CELL_MAGICS = frozenset({"capture", "prun", "time", "timeit"})

_CELL_MAGIC = re.compile(r"\s*%%(\w*)")
_LINE_MAGIC = re.compile(r"\s*(?:[%!]|\?{1,2}\S|,\s*\S+\s|;\s*\w)")
_HELP = re.compile(r"\s*[\w.*\[\]'\"%]+\?{1,2}\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.,\s\[\]]*=\s*)(?:%\s*[A-Za-z]|!(?!=))")
_CUDA = re.compile(r"cuda|nvidia|--gpus\b", re.IGNORECASE)
_INSTALLS = re.compile(
    r"\s*[%!]\s*(?:sys\.executable\s+-m\s+|\{sys\.executable\}\s+-m\s+|python3?\s+-m\s+|uv\s+)?"
    r"(?:pip3?|conda|mamba)\s+(?:-\S+\s+)*install\s"
)
_USES = re.compile(r"\btorch\.cuda\b|\.cuda\(|\bdevice=[\"']cuda")
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
      | (?P<string>[A-Za-z]{0,3}(?P<quote>\"{3}|'{3}|"|'))
      | (?P<open>[(\[{]) | (?P<close>[)\]}])""",
    re.VERBOSE,
)


def mask(code: str) -> Segment | None:
    """``code`` of a cell as a segment with its magics masked; None where the cell is no Python."""
    magic = _CELL_MAGIC.match(code)
    if magic and magic.group(1) not in PYTHON_CELL_MAGICS:
        return None
    masks: dict[str, str] = {}
    result: list[str] = []
    state = _State()
    continued = False
    for line in lines(code):
        body = line.rstrip("\r\n")
        end = line[len(body) :]
        if continued:
            name = _add(masks, body)
            result.append(name + end)
            continued = body.endswith("\\")
        elif state.at_statement and (kept := _kept(body)) is not None:
            indent = body[: len(body) - len(body.lstrip())] if not kept else kept
            name = _add(masks, body[len(indent) :])
            result.append(indent + name + end)
            continued = body.endswith("\\")
        else:
            state.read(line)
            result.append(line)
    return Segment("".join(result), masks)


@dataclass(frozen=True)
class Mention:
    """A line, from 1, that is not rewritten and a person should see; ``uses``: it is torch's CUDA that it uses."""

    line: int
    text: str
    uses: bool = False


def installs(code: str) -> Iterator[Mention]:
    """Yield the lines of a cell by which it installs packages: ``%pip install timm``, ``!pip install -q timm``."""
    for number, line in enumerate(lines(code), 1):
        if _INSTALLS.match(line) is not None:
            yield Mention(number, line.strip())


def mentions(code: str, segment: Segment | None) -> Iterator[Mention]:
    """Yield the magics and shell lines of a cell that say CUDA; every line where the cell is no Python."""
    if segment is not None and not segment.masks:
        return
    masked = lines(code) if segment is None else lines(segment.code)
    for number, (line, left) in enumerate(zip(lines(code), masked, strict=True), 1):
        if (segment is None or line != left) and _CUDA.search(line):
            yield Mention(number, line.strip(), _USES.search(line) is not None)


def _kept(body: str) -> str | None:
    """None for a line of Python; for a magic, the start of the line that stays visible, or ``""``."""
    assigned = _ASSIGNED.match(body)
    if assigned:
        return assigned.group(1)
    if _LINE_MAGIC.match(body) or _HELP.match(body):
        return ""
    return None


def _add(masks: dict[str, str], original: str) -> str:
    name = f"__tdev_mask_{len(masks)}__"
    masks[name] = original
    return name


class _State:
    """State of a scan, by which the next line starts a statement or does not: not inside brackets, a string or a continued line."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._joined = False

    @property
    def at_statement(self) -> bool:
        return not (self._depth or self._quote or self._joined)

    def read(self, line: str) -> None:
        """Take one line of Python into account."""
        at = 0
        if self._quote:
            at = self._close(line, 0)
        while not self._quote and (token := _TOKEN.search(line, at)):
            at = token.end()
            if token["comment"]:
                self._joined = False
                return
            if token["open"]:
                self._depth += 1
            elif token["close"]:
                self._depth = max(0, self._depth - 1)
            else:
                self._quote = token["quote"]
                at = self._close(line, at)
        ends_joined = line.rstrip("\r\n").endswith("\\")
        if len(self._quote) == 1 and not ends_joined:
            self._quote = ""  # an unterminated string: the cell will not parse, and says so itself
        self._joined = ends_joined and not self._quote

    def _close(self, line: str, at: int) -> int:
        """Return the offset after the open string's end; the string stays open where it does not end."""
        while at < len(line):
            if line[at] == "\\":
                at += 2
            elif line.startswith(self._quote, at):
                at += len(self._quote)
                self._quote = ""
                return at
            else:
                at += 1
        return len(line)
