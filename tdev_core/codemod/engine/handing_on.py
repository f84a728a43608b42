"""Reads off the texts of a tree which of its functions hand the device that they are given to a package beside the tree.

Such a package calls torch itself, and a word, ``"cuda"``, has to be of a device that there is. So a word that is chosen for one of
them is made of the device, and one that is chosen for the field of a configuration that they are given stays what it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from tdev_core.codemod.engine.api import Handing
from tdev_core.codemod.engine.vocabulary import SETTINGS, imported_from, without_prose
from tdev_core.ecosystem.device_table import named

_NONE_OF_THESE = (
    {"torch", "tdev", "numpy", "cupy", "mlx", "pandas"}
    | sys.stdlib_module_names
    | set(named("name", "nothing"))
)
# From the end of the line above, which `re` looks for many times faster than for a line's start.
_HEAD = re.compile(
    r"\n[ \t]*(?:class[ \t]+(?P<owner>\w+)|(?:async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*\((?P<given>[^()]*(?:\([^()]*\)[^()]*)*)\))"
)
_DEVICE = re.compile(r"(?<!\w)device[ \t]*(?::|=|,|\Z|\n)")
# Made a device of torch's by the function, which is then tdev's.
_MADE = re.compile(r"\bdevice[ \t]*=[ \t]*(?:\w+\.)?\w*device\w*\(")
_AS_DEVICE = r"\b(?:device|device_map|map_location)[ \t]*=[ \t]*"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*?"
_GIVEN_DEVICE = r"device\b(?!\.)"
_OF_SETTINGS = rf"(?:\w+\.)*(?:\w+_)?(?:{SETTINGS})\.device\b"
_HOLDS_SETTINGS = re.compile(rf"(?<!\w)(?:\w+_)?(?:{SETTINGS})\Z")
_DEVICE_OF = re.compile(r"\.device\b")
_LONGEST = 80
"""Characters of a name that holds settings."""
# As a whole: `train(model, args)`.
_GIVES_SETTINGS = re.compile(rf"[(,]\s*(?:\w+[ \t]*=[ \t]*)?(?:\w+_)?(?:{SETTINGS})\s*[,)]")
# A choice of a command line's, or of a field's, what may be typed, and what is asked of that.
_BY_SETTINGS = re.compile(
    r"(?:\bdefault(?:_factory)?[ \t]*=[ \t]*(?:lambda[ \t]*:\s*)?|\bdevice[ \t]*:[^=\n]*=[ \t]*)"
    r"\(?\s*[\"']cuda(?::\d+)?[\"']\s+if\s+(?:\w+\.)*cuda\.is_available\(\)\s+else\b"
    r"|\bchoices[ \t]*=[ \t]*[\[(][^\])]*[\])]"
    rf"|(?<![\w.]){_OF_SETTINGS}[ \t]*[!=]=[ \t]*[\"']cuda[\"']"
)
_TAKES = re.compile(
    r"\bcuda\.(?:is_available|device_count|current_device)\b|\.cuda\(|[\"']cuda\b"
    # which may choose one: of nothing, or by what was typed, and not that of a model
    rf"|(?<!cuda\.)\b(?!device\()\w*device\w*\((?:\s*\)|[^()]*\b(?:\w*gpu\w*|(?:\w+_)?(?:{SETTINGS}))\b)"
)
_MOVES = frozenset({"to", "cuda", "to_empty"})


class _Function(NamedTuple):
    name: str
    tells: frozenset[str]
    """What it calls and tells the device that it is given, by the first name."""
    foreign: frozenset[str]
    """What its file imports of packages beside the tree."""


def handing_on(texts: Iterable[bytes], modules: Collection[str]) -> Handing:
    """Return what hands a device on, by the texts of a tree and what its modules are called."""
    functions: list[_Function] = []
    told_settings: list[tuple[frozenset[str], frozenset[str]]] = []
    counted: dict[str, int] = {}
    divided = False
    for raw in texts:
        if b"device" not in raw:
            continue
        text = raw.decode("latin-1")
        foreign = _foreign(text, modules)
        if _reads_settings(text):
            told_settings.append((_told(text, _OF_SETTINGS), foreign))
            divided = divided or takes_besides(without_prose(text))
        for found in _functions(text, foreign):
            counted[found.name] = counted.get(found.name, 0) + 1
            functions.append(found)
    functions = [each for each in functions if counted[each.name] == 1]
    tellers: dict[str, list[str]] = {}
    for each in functions:
        for callee in each.tells:
            tellers.setdefault(callee, []).append(each.name)
    new = [each.name for each in functions if not each.tells.isdisjoint(each.foreign)]
    told = set(new)
    while new:
        for name in tellers.get(new.pop(), ()):
            if name not in told:
                told.add(name)
                new.append(name)
    settings = any(not called.isdisjoint(told | foreign) for called, foreign in told_settings)
    return Handing(frozenset(told), settings, divided)


def _reads_settings(text: str) -> bool:
    """Tell whether a text reads the device of what was typed: ``args.device``."""
    ends = (found.start() for found in _DEVICE_OF.finditer(text))
    return any(_HOLDS_SETTINGS.search(text, max(0, end - _LONGEST), end) for end in ends)


@lru_cache(maxsize=4)
def hands_a_settings_device(code: str, functions: frozenset[str], modules: frozenset[str]) -> bool:
    """Tell whether a file hands the device of its command line on: ``from_pretrained(name, device_map=args.device)``."""
    return not _told(code, _OF_SETTINGS).isdisjoint(functions | _foreign(code, modules))


def gives_settings(code: str) -> bool:
    """Tell whether a file gives away all that was typed: ``train(model, args)``."""
    return _GIVES_SETTINGS.search(code) is not None


def takes_besides(code: str) -> bool:
    """Tell whether a file takes something to CUDA, or asks for it, but for a device of settings.

    It would go to the device that there is, and what settings hand on would stay on the CPU where there is no CUDA.
    """
    return _TAKES.search(_BY_SETTINGS.sub("", code)) is not None


def _foreign(text: str, modules: Collection[str]) -> frozenset[str]:
    taken = imported_from(text).items()
    known = (name for name, of in taken if not any(_is_known(each, modules) for each in of))
    return frozenset(known) - {"*"}


def _is_known(module: str, modules: Collection[str]) -> bool:
    """Tell whether an import is one of the tree's own, or of what is known to take a device as it is."""
    top = module.partition(".")[0]
    return not top or top in _NONE_OF_THESE or top in modules


@lru_cache(maxsize=16)
def _calls(device: str) -> re.Pattern[str]:
    """Return what finds the calls that are told a device, each by the first name of what is called."""
    return re.compile(
        rf"(?<![\w.])(?:(?:self|cls)\.)?(\w+)(?:\.\w+)*(?={_ARGUMENTS}{_AS_DEVICE}{device})"
    )


def _told(text: str, device: str) -> frozenset[str]:
    """Return what is called and told the device by a name for it."""
    if re.search(_AS_DEVICE + device, text) is None:
        return frozenset()
    found = _calls(device).finditer(text)
    return frozenset(each[1] for each in found if each[0].rpartition(".")[2] not in _MOVES)


def _functions(text: str, foreign: frozenset[str]) -> Iterator[_Function]:
    """Yield the functions that are given a device and make none of it, each with its text up to the next one."""
    text = "\n" + text
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
            yield _Function(name, _told(body, _GIVEN_DEVICE), foreign)
