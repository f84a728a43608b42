"""Tells what a file does not do alone: which of its names others of the tree set, replace or call.

An heir in another file sets an attribute or has a method of its own, ``base.FAST = True`` sets a module's variable, and a
private function is imported. Names stand for what is called so, as in the rest of the survey.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tdev_core.codemod.engine.api import ProgramTree

# Each begins with what `re` looks for many times faster than for a choice.
_SET_ON_OTHERS = (
    re.compile(rb"\.(?<!\bself\.)(?<!\bcls\.)(\w+)[ \t]*(?:[-+*/|&]|//)?=(?!=)"),
    re.compile(rb"setattr\(\s*[\w.]+\s*,\s*[\"'](\w+)[\"']"),
)
_PRIVATE_OF_OTHERS = re.compile(rb"\._(?<!\bself\._)(?<!\bcls\._)[a-zA-Z]\w*")
_IMPORTED = re.compile(rb"import[ \t]*(\([^)]*\)|[^\n]*)")
_PRIVATE = re.compile(rb"(?<!\w)_[a-zA-Z]\w*")
_SET_ON_ITSELF = (
    re.compile(rb"self\.(\w+)[ \t]*(?::[^=\n]*|[-+*/|&]|//)?=(?!=)"),
    re.compile(rb"cls\.(\w+)[ \t]*(?::[^=\n]*|[-+*/|&]|//)?=(?!=)"),
)
_IN_ITS_BODY = re.compile(rb"\n([ \t]+)(\w+)[ \t]*(?::[^=\n]*)?=(?!=)")
_FIRST_METHOD = re.compile(rb"\n([ \t]+)(?:async[ \t]+)?def[ \t]")
_METHOD = re.compile(rb"def[ \t]+(\w+)")
_PRIVATE_OF_ITSELF = re.compile(rb"\._(\w+)")
_WORD = re.compile(rb"\w+")
_NEXT_OF_MARGIN = re.compile(rb"\n(?:class|def|async|@)")
_MAY_ASK = (b"uda", b"CUDA")
"""What a file speaks of whose questions may stay: no other has anything to be asked about."""

_Definitions = Mapping[str, list[tuple[int, int, frozenset[str]]]]


def set_on_others(raw: bytes) -> set[bytes]:
    """Return the attributes that a text sets on something else than ``self``: also the variables of modules."""
    return {name for pattern in _SET_ON_OTHERS for name in pattern.findall(raw)}


def private_of_others(raw: bytes) -> set[bytes]:
    """Return the private names that a text imports, or takes from something else than ``self``."""
    found = {name[1:] for name in _PRIVATE_OF_OTHERS.findall(raw)}
    for names in _IMPORTED.findall(raw):
        found.update(_PRIVATE.findall(names))
    return found


class Files:
    """Collects what the files seen so far do to one another."""

    def __init__(self) -> None:
        self._set: Counter[bytes] = Counter()
        self._private: Counter[bytes] = Counter()

    def see(self, raw: bytes) -> None:
        """Take a file into account."""
        self._set.update(set_on_others(raw))
        self._private.update(private_of_others(raw))

    @property
    def set_on_others(self) -> Mapping[str, int]:
        """The attributes that are set on something else than ``self``, and by how many files."""
        return {name.decode(): number for name, number in self._set.items()}

    @property
    def private_of_others(self) -> Mapping[str, int]:
        """The private names that are imported or taken from something else than ``self``, and by how many files."""
        return {name.decode(): number for name, number in self._private.items()}


def of_families(texts: list[bytes], classes: _Definitions) -> frozenset[str]:
    """Return ``Class.name`` of what a class's heirs in other files set, replace or call, and its bases there set.

    Args:
        texts: those that the definitions of the classes are numbered by.
    """
    above = {name: frozenset().union(*(bases for *_, bases in at)) for name, at in classes.items()}
    below: dict[str, set[str]] = {}
    for name, bases in above.items():
        for base in bases & classes.keys():
            below.setdefault(base, set()).add(name)
    words: dict[int, set[bytes]] = {}
    said: dict[tuple[int, int], tuple[set[bytes], set[bytes]]] = {}
    asks = {n for n, raw in enumerate(texts) if any(sign in raw for sign in _MAY_ASK)}
    found: set[str] = set()
    for name, places in classes.items():
        if asks.isdisjoint(at for at, *_ in places):
            continue
        heirs = _reached(name, below)
        family = [(each, True) for each in heirs]
        family += [(each, False) for each in _reached(name, above) & classes.keys() - heirs]
        for number in {at for at, *_ in places} & asks if family else ():
            here = words[number] = words.get(number) or set(_WORD.findall(texts[number]))
            for other, is_heir in family:
                for at, start, _ in classes[other]:
                    if at == number:
                        continue
                    if (at, start) not in said:
                        said[at, start] = _said_by(texts[at], start)
                    set_there, more = said[at, start]
                    both = (set_there | more if is_heir else set_there) & here
                    found.update(f"{name}.{word.decode()}" for word in both)
    return frozenset(found)


def _said_by(raw: bytes, start: int) -> tuple[set[bytes], set[bytes]]:
    """Return the attributes that a class sets, and its methods and the private ones that it calls."""
    end = _NEXT_OF_MARGIN.search(raw, start)
    text = raw[start : end.start() if end is not None else len(raw)]
    given = {name for pattern in _SET_ON_ITSELF for name in pattern.findall(text)}
    method = _FIRST_METHOD.search(text)
    # As far in as its methods: what stands further in is a variable of theirs.
    given |= {
        name
        for indent, name in _IN_ITS_BODY.findall(text)
        if method is None or len(indent) <= len(method[1])
    }
    private = {b"_" + name for name in _PRIVATE_OF_ITSELF.findall(text)}
    return given, private.union(_METHOD.findall(text))


def _reached(name: str, ways: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        more = set(ways.get(todo.pop(), ())) - found
        found |= more
        todo += more
    return found - {name}


@dataclass(frozen=True)
class Others:
    """The other files of a tree, as one file may ask them."""

    tree: ProgramTree | None
    source: str

    def set(self, name: str, owners: Iterable[str]) -> bool:
        """Tell whether another file may set a variable, or an attribute of one of these classes, or replace a method."""
        return self.tree is not None and (
            self.tree.set_on_others.get(name, 0) > (name.encode() in self._set)
            or any(f"{owner}.{name}" in self.tree.of_families for owner in owners)
        )

    def call(self, name: str, owners: Iterable[str]) -> bool:
        """Tell whether another file may call a private function, or a method of one of these classes."""
        return self.tree is not None and (
            self.tree.private_of_others.get(name, 0) > (name.encode() in self._private)
            or any(f"{owner}.{name}" in self.tree.of_families for owner in owners)
        )

    @cached_property
    def _set(self) -> frozenset[bytes]:
        return frozenset(set_on_others(self.source.encode()))

    @cached_property
    def _private(self) -> frozenset[bytes]:
        return frozenset(private_of_others(self.source.encode()))
