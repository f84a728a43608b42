r"""Reads names out of a text: which a span mentions, where one stands, and to what it certainly belongs.

Text rather than nodes: :mod:`re` and ``str.find`` run at the speed of C, where a walk over every node
of a file's tree would take longer than the slice saves. So names are compared as text, which keeps too
much rather than too little: what the text around a name does not show counts as "may be".
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from tdev_core.codemod.engine.vocabulary import SETTINGS, TENSOR_WORD

_GAP = r"[\s\\]|#[^\n]*\n"  # what may stand between two tokens
_WORD = re.compile(r"\.?\w+")
_ATTRIBUTE = re.compile(rf"\.(?:{_GAP})*([^\W\d]\w*)")
_CALLED = re.compile(rf"(?<![\w.])([^\W\d]\w*)(?!\w)(?:\)|{_GAP})*\(")

_REACH = 200
"""The number of characters before a name that are looked at for what it goes on."""
_GOES_ON = re.compile(r"[.\\]\s*\Z|#[^\n]*\s*\Z|\A\s*\Z")

# `x.device` read: no longer name, no call, no annotation, and nothing assigned to it.
_OBJECT = r"([A-Za-z_][\w.]*(?:\[\w*\][\w.]*)*)\.device(?!\w|\s*[(:]|\s*=[^=])"
_READ = re.compile(_OBJECT)
_GIVEN = re.compile(rf"[ \t]*=[ \t]*{_OBJECT}(?=[ \t]*[,)\r\n])")
_NOT_A_READ = re.compile(r"\w|\s*\(|\s*:|\s*=\s*[^\s\w=]")
_INDEX = re.compile(r"\[\w*\]")
_HOLDS_SETTINGS = re.compile(rf"(^|_)({SETTINGS})$", re.IGNORECASE)


def names_in(text: str) -> set[str]:
    """Return the words that follow no dot."""
    return {word for word in _WORD.findall(text) if word[0] != "."}


def attributes_in(text: str) -> list[str]:
    """Return the names that follow a dot."""
    return _ATTRIBUTE.findall(text)


def called_in(text: str) -> list[str]:
    """Return the names, but for attributes, that a parenthesis follows."""
    return _CALLED.findall(text)


def occurrences(text: str, name: str, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Yield the offset of each ``name`` in a text that is not a part of a longer one."""
    at = text.find(name, start, stop)
    while at >= 0:
        end = at + len(name)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (before == "_" or before.isalnum() or after == "_" or after.isalnum()):
            yield at
        at = text.find(name, end, stop)


def continues_a_line(text: str, at: int) -> bool:
    """Tell whether a name here may be an attribute of something that ends on a line before it."""
    return _GOES_ON.search(text[max(0, at - _REACH) : at]) is not None


def object_of_device(text: str, at: int, torch: Container[str]) -> str:
    """Return the object whose own device the word here only is, which is a real one; nothing where it may be another's.

    So it is in ``x.device`` and ``device=x.device`` where ``x`` is a word for a tensor or a module, unless
    it is ``self`` (it may be set to anything), or one of the names under which the file knows ``torch``.
    """
    end = at + len("device")
    if text[at:end] != "device" or _NOT_A_READ.match(text, end):
        return ""
    if text[at - 1 : at] == ".":
        found = _READ.match(text, _chain_start(text, at - 1, "_.[]"))
        if found is None or found.end() != end:
            return ""
    else:
        found = _GIVEN.match(text, end)
        if found is None:
            return ""
    chain = _INDEX.sub("", found[1])
    root, last = chain.partition(".")[0], chain.rpartition(".")[2]
    if chain in ("self", "cls") or root in torch or _HOLDS_SETTINGS.search(last):
        return ""
    # What else may be a tensor is told by its use in its function, which the rules look at.
    real = found[1].endswith("]") or TENSOR_WORD.search(last) is not None
    return found[1] if real else ""


def is_foreign_method(text: str, at: int, torch: Container[str]) -> bool:
    """Tell whether the name here is certainly that of an object's method, or of a module not torch's.

    So it is in ``x.gather(1, index)`` and ``json.load(file)``. ``torch`` are the names that imports
    bind to something of torch's; a variable that holds one is another matter (:mod:`.taint`).
    """
    start = _chain_start(text, at, "_.")
    root, dot, _ = text[start:at].partition(".")
    if not dot:
        return False
    if not root:
        return text[start - 1 : start] in tuple(")]}\"'")
    return root not in torch and not continues_a_line(text, start)


def _chain_start(text: str, at: int, also: str) -> int:
    """Return the start of the run of letters, digits and these characters that ends at ``at``."""
    while at and (text[at - 1].isalnum() or text[at - 1] in also):
        at -= 1
    return at
