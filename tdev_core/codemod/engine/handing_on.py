"""Reads off the texts of a tree which of its functions hand the device that they are given to a package beside the tree.

Such a package calls torch itself, and a word, ``"cuda"``, has to be of a device that there is. So a word that is chosen for one of
them, and for the field of a configuration that they are given, stays what it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from tdev_core.codemod.engine.api import Handing
from tdev_core.codemod.engine.vocabulary import SETTINGS
from tdev_core.ecosystem.device_table import named

_NONE_OF_THESE = (
    {"torch", "tdev", "numpy", "cupy", "mlx", "pandas"}
    | sys.stdlib_module_names
    | set(named("name", "nothing"))
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\w+)[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+(\w+)[\w.]*(?:[ \t]+as[ \t]+(\w+))?)",
    re.MULTILINE,
)
_HEAD = re.compile(
    r"^(?P<indent>[ \t]*)(?:class[ \t]+(?P<owner>\w+)|(?:async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*\((?P<given>[^()]*(?:\([^()]*\)[^()]*)*)\))",
    re.MULTILINE,
)
_DEVICE = re.compile(r"(?<!\w)device[ \t]*(?::|=|,|\Z|\n)")
# Made a device of torch's by the function, which is then tdev's.
_MADE = re.compile(r"\bdevice[ \t]*=[ \t]*(?:\w+\.)?\w*device\w*\(")
_AS_DEVICE = r"\b(?:device|device_map|map_location)[ \t]*=[ \t]*"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*?"
_OF_SETTINGS = rf"(?:\w+\.)*(?:\w+_)?(?:{SETTINGS})\.device\b"
_MOVES = frozenset({"to", "cuda", "to_empty"})


class _Function(NamedTuple):
    name: str
    text: str
    foreign: re.Pattern[str] | None
    """What finds a call of a package beside the tree, if the file imports one."""


def handing_on(texts: Iterable[bytes], modules: Collection[str]) -> Handing:
    """Return what hands a device on, by the texts of a tree and what its modules are called."""
    functions: list[_Function] = []
    every: list[tuple[str, re.Pattern[str] | None]] = []
    counted: dict[str, int] = {}
    for raw in texts:
        if b"device" not in raw:
            continue
        text = raw.decode("latin-1")
        foreign = _foreign(text, modules)
        every.append((text, foreign))
        for found in _functions(text, foreign):
            counted[found.name] = counted.get(found.name, 0) + 1
            functions.append(found)
    functions = [each for each in functions if counted[each.name] == 1]
    told = {each.name for each in functions if _tells(each.foreign, each.text, r"device\b(?!\.)")}
    new = told
    while new:
        calls = _calls(new)
        new = {
            each.name
            for each in functions
            if each.name not in told and _tells(calls, each.text, r"device\b(?!\.)")
        }
        told |= new
    by_one = _calls(told) if told else None
    settings = any(
        _tells(each, text, _OF_SETTINGS) for text, foreign in every for each in (foreign, by_one)
    )
    return Handing(frozenset(told), settings)


@lru_cache(maxsize=4)
def hands_a_settings_device(code: str, functions: frozenset[str], modules: frozenset[str]) -> bool:
    """Tell whether a file hands the device of its command line on: ``from_pretrained(name, device_map=args.device)``."""
    calls = (_foreign(code, modules), _calls(functions) if functions else None)
    return any(_tells(each, code, _OF_SETTINGS) for each in calls)


@lru_cache(maxsize=64)
def handed_to(text: str, variable: str, functions: frozenset[str]) -> str:
    """Return which of these functions a text hands a variable, as a device; the empty name for none."""
    if not functions:
        return ""
    calls = _calls(functions)
    told = re.compile(rf"{_ARGUMENTS}{_AS_DEVICE}{variable}\b(?!\.)")
    found = (each for each in calls.finditer(text) if told.match(text, each.end()))
    return next((each[0] for each in found), "")


def _foreign(text: str, modules: Collection[str]) -> re.Pattern[str] | None:
    names = set()
    for found in _IMPORT.finditer(text):
        top = found[1] or found[3]
        if top in _NONE_OF_THESE or top in modules:
            continue
        if found[2] is None:
            names.add(found[4] or top)
        else:
            listed = found[2].strip("()").split(",")
            names.update(re.sub(r"#[^\n]*", "", each).split(" as ")[-1].strip() for each in listed)
    return _calls(names - {"", "*"}) if names - {"", "*"} else None


def _calls(names: Collection[str]) -> re.Pattern[str]:
    of = "|".join(map(re.escape, sorted(names)))
    return re.compile(
        rf"(?<![\w.])(?:(?:self|cls)\.)?(?:{of})(?:\.\w+)*(?={_ARGUMENTS}{_AS_DEVICE})"
    )


def _tells(calls: re.Pattern[str] | None, text: str, device: str) -> bool:
    """Tell whether one of the calls is told the device by a name for it."""
    if calls is None:
        return False
    told = re.compile(rf"{_ARGUMENTS}{_AS_DEVICE}{device}")
    return any(
        found[0].rpartition(".")[2] not in _MOVES and told.match(text, found.end()) is not None
        for found in calls.finditer(text)
    )


def _functions(text: str, foreign: re.Pattern[str] | None) -> Iterator[_Function]:
    """Yield the functions that are given a device and make none of it, each with its text up to the next one."""
    heads = list(_HEAD.finditer(text))
    owner = ""
    for at, head in enumerate(heads):
        if head["owner"] is not None:
            owner = head["owner"]
            continue
        if _DEVICE.search(head["given"]) is None:
            continue
        end = heads[at + 1].start() if at + 1 < len(heads) else len(text)
        body = text[head.end() : end]
        if _MADE.search(body) is None:
            name = owner if head["name"] == "__init__" else head["name"]
            yield _Function(name, body, foreign)
