"""Finds the functions of a tree that are told a device, and by every caller that of a tensor.

``_mask(n, x.device)`` needs no answer of tdev's, wherever ``_mask`` is defined: no name of CUDA's gets there.
Read off the texts; a call that cannot be followed counts as one that may hand on what a person typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdev_core.codemod.engine.vocabulary import SETTINGS, TENSOR_WORD, used_as_tensor

_DEFINED = re.compile(rb"def(?<!\wdef)[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_TOLD = re.compile(rb"\b\w*device\w*\b")
# Their callers do not say their names.
_CALLED_OTHERWISE = re.compile(r"__\w+__\Z|forward\Z|to\Z|cuda\Z|setup\Z|main\Z|run\Z")
# Annotated as a device, it needs no callers that say so.
_TYPED = re.compile(rb"\b\w*device\w*\s*:[^,=]*\b(?:torch|th)\.device\b")
_DEFAULT = re.compile(rb"\b\w*device\w*\b[^,=]*=(?!\s*None\b)")
_KEYWORD = re.compile(r"\w+\s*=(?!=)\s*")
_OWNED = re.compile(r"(.+)\.device\Z", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_SETTING = re.compile(rf"(?:^|[._])(?:{SETTINGS})\b", re.IGNORECASE)
_CONSTANT = re.compile(r"""(?:None|["'](?:cpu|meta)["'])\Z""")
_MADE = re.compile(r"(?:torch|th|tdev)\.device\(")
_FUNCTION = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_REACH = 2000
_LIMIT = 64 << 20
"""The bytes of texts that are kept until it is known what is looked for in them."""


class ToldDevices:
    """The texts of a tree; :meth:`own` is asked once all are seen."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._raws: list[bytes] = []
        self._silent: list[bytes] = []
        """Those that never say ``device``: they may call with a name, or with nothing."""
        self._size = 0

    def see(self, raw: bytes) -> None:
        """Take a file into account."""
        self._size += len(raw)
        if b"device" not in raw:
            self._silent.append(raw)
            return
        for found in _DEFINED.finditer(raw):
            if b"device" in found[2] and _TOLD.search(found[2]):
                name = found[1].decode("ascii", "ignore")
                typed = _TYPED.search(found[2]) is not None
                if _CALLED_OTHERWISE.match(name) is None and not (
                    typed or _DEFAULT.search(found[2])
                ):
                    self._names.add(name)
        self._raws.append(raw)

    def own(self) -> frozenset[str]:
        """Return the functions that are called, and told nothing but the device of a tensor."""
        if self._size > _LIMIT:
            return frozenset()
        calls: dict[str, set[str]] = {}
        self._look(self._raws, self._names, calls)
        # Few are left to be looked for in the many files that say nothing of devices.
        self._look(self._silent, set(calls), calls)
        known = set(calls)
        while lost := {name for name in known if any(by and by not in known for by in calls[name])}:
            known -= lost
        return frozenset(known)

    @staticmethod
    def _look(raws: list[bytes], names: set[str], calls: dict[str, set[str]]) -> None:
        """Add who tells the functions of these names; those that may be told something else go."""
        words = {name: name.encode() for name in names}
        for raw in raws:
            here = [name for name, word in words.items() if word in raw]
            text = raw.decode("utf-8", "replace") if here else ""
            for name in here:
                for through in _callers(text, name):
                    if through is None:
                        calls.pop(name, None)
                        del words[name]
                        break
                    if through != name:  # which calls itself
                        calls.setdefault(name, set()).add(through)


def _callers(text: str, name: str) -> Iterator[str | None]:
    """Yield of each use in a text: nothing where it gives a tensor's device, the function that hands on its own, or None."""
    for found in re.finditer(rf"(?<!\w){name}\b[ \t]*(\()?", text):
        line = text.rfind("\n", 0, found.start()) + 1
        before = text[line : found.start()]
        if "#" in before or re.search(r"\bdef[ \t]+\Z|\bimport\b|[\"']\Z", before):
            continue
        if found[1] is None:
            # Handed on as a value: its callers are not to be seen.
            if (
                re.search(r"[=(,]\s*(?:\w+\.)*\Z", before)
                and text[found.end() :].lstrip()[:1] != "="
            ):
                yield None
            continue
        arguments = list(_arguments(text, found.end()))
        told = [each for each in arguments if "device" in each or "cuda" in each]
        if not told:
            yield None
        for each in told:
            yield _origin(text, found.start(), each)


def _arguments(text: str, at: int) -> Iterator[str]:
    """Yield the arguments of the call whose parenthesis opens before ``at``."""
    depth, start = 0, at
    for index in range(at, min(len(text), at + _REACH)):
        letter = text[index]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if depth < 0 or depth == 0 and letter == ",":
            yield text[start:index].strip()
            start = index + 1
        if depth < 0:
            return
    yield "device out of reach"


def _origin(text: str, at: int, given: str, deep: int = 3) -> str | None:
    """Tell what an argument is: the empty text for a tensor's device, the function whose parameter it is, or None."""
    value = _KEYWORD.sub("", given, count=1) if _KEYWORD.match(given) else given
    if _CONSTANT.match(value) or _MADE.match(value):
        return ""
    if (owned := _OWNED.match(value)) is not None:
        owner = owned[1]
        if _SETTING.search(owner):
            return None
        if owner in ("self", "cls"):
            return None if re.search(r"\bself\.device\b[ \t]*(?::[^=\n]+)?=(?!=)", text) else ""
        if owner[-1] in ")]" or TENSOR_WORD.search(owner.rpartition(".")[2]):
            return ""
        return "" if used_as_tensor(text, owner) else None
    if _NAME.match(value) is None or not deep:
        return None
    home = _home(text, at)
    if home is None:
        return None
    start, function = home
    around = text[start:at]
    bound = re.findall(rf"^[ \t]*{value}[ \t]*=(?!=)[ \t]*([^\n]+)$", around, re.MULTILINE)
    # The last of several: `b, n, device = *x.shape, x.device`.
    several = rf"^[ \t]*(?:[*\w]+,[ \t]*)+{value}[ \t]*=(?!=)[^\n]*,[ \t]*([^,\n]+)$"
    bound += re.findall(several, around, re.MULTILINE)
    if bound:
        origins = [_origin(text, at, each.strip(), deep - 1) for each in bound]
        return "" if all(origin == "" for origin in origins) else None
    signature = _DEFINED.search(around.encode())
    if signature is not None and re.search(rf"\b{value}\b".encode(), signature[2]):
        return function
    return None


def _home(text: str, at: int) -> tuple[int, str] | None:
    """Return where the function around a place starts, and its name: the last one that is less indented."""
    line = text.rfind("\n", 0, at) + 1
    indent = len(text[line:at]) - len(text[line:at].lstrip())
    last = None
    for found in _FUNCTION.finditer(text, 0, line):
        if len(found[1]) < indent:
            last = found.start(), found[2]
    return last
