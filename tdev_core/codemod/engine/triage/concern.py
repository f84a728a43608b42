"""Takes a second, cheap look at a file: does its code, not only its prose, concern a rule?

A file that mentions CUDA in comments and docstrings alone does not. One that does not mention it at
all matters only where it makes a device out of what a person typed (``torch.device(name)``,
``device=args.device``, ``device=0``), loads a checkpoint, gives torch a device of unknown provenance
(:mod:`.provenance`), or has TorchScript compile something. One pass of a regular expression answers
that in a hundredth of the time that a concrete syntax tree takes. It may only say no where the rules
would find nothing; where it is about to say no of a file that does say CUDA, Python's own parser has
the last word.
"""

from __future__ import annotations

import ast
import bisect
import re
from functools import lru_cache
from typing import Literal

from tdev_core.codemod.engine.api import Style
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.tree import parse
from tdev_core.codemod.engine.triage.provenance import gives_unknown_device, shows_real_devices
from tdev_core.codemod.engine.vocabulary import (
    MAKERS,
    ORDINAL_MOVES,
    PROSE,
    SETTINGS,
    mentions,
    signs,
)

Concern = Literal["no", "device", "cuda"]
"""Nothing for the rules here; only a device of unknown name; CUDA itself."""

_MAKER = {name: re.compile(rf"{name}\b") for name in ("device", "load", "from_url", "script")}
_MAKER["Generator"] = re.compile(r"Generator(?=\s*\(\s*[^\s)])")
_SETTING = re.compile(rf"({SETTINGS})(?:\[[^][\n]*\])*\s*\.\s*(?:\w+_)?\Z", re.IGNORECASE)
# Patterns that start with the rarest thing in them: what stands before it is asked afterwards.
_KEY = re.compile(r"device[\"']")
_KEY_OF = re.compile(rf"(?:{SETTINGS})\s*(?:\[[^][\n]*\]\s*)*\[\s*[\"'](?:\w+_)?\Z", re.IGNORECASE)
_ASKED = re.compile(r"(?<![\w.])(\w+)(?:\.get\(\s*|\[)[\"']\Z")  # `kwargs.get("device")`
_PINNED = re.compile(r"pin_memory(?<!\wpin_memory)[ \t]*=(?!=)[ \t]*(?!False\b)")
_NUMBER = re.compile(r"[ \t]*=[ \t]*[-(]?\d")
_CALLED = re.compile(r"""\s*\((?!\s*["'](?:cpu|meta|mps)["']\s*[,)])""")
_HANDED = re.compile(r"(\b(type|converter|factory)\s*=|\b(map|partial)\s*\()[\w.\s]*\Z")
# A checkpoint that is loaded to the CPU, whatever was saved: no rule has anything to say of it.
_TO_THE_CPU = r"(?:lambda[ \t]+(\w+),[ \t]*\w+:[ \t]*\1|[\"'](?:cpu|meta)[\"'])\s*[,)]"
_ARGUMENT = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))"
_LOADED_TO_THE_CPU = {
    "load": re.compile(
        rf"\s*\((?:{_ARGUMENT}*?\bmap_location\s*=\s*|(?:(?!,){_ARGUMENT})*,\s*){_TO_THE_CPU}"
    ),
    "from_url": re.compile(rf"\s*\({_ARGUMENT}*?\bmap_location\s*=\s*{_TO_THE_CPU}"),
}
# Lightning's, of whatever class: it hands on to `torch.load` where a checkpoint is to go.
_LIGHTNINGS = re.compile(rf"load_from_checkpoint\({_ARGUMENT}*?\bmap_location\s*=\s*[A-Za-z_]")
_ALIAS = re.compile(r"torch(?:\.\w+)*[ \t]+as[ \t]+(\w+)")
_FROM = re.compile(
    r"from[ \t]+torch[\w.]*[ \t]+import[ \t]*(\((?:#[^\n\r]*|[^)#])*\)|(?:\\\r?\n|[^\n\r;])*)"
)
_NAME = re.compile(r"\w+")
_REACH = 80
"""The number of characters before a name that are looked at for what it belongs to."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADER_ABOVE = re.compile(
    r"\n[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t][^\n]*|\)[ \t]*(?:->[^\n]*)?):[ \t]*(?:#[^\n]*)?\s*\Z"
)
_COMMENTS = re.compile(r"\s*(?:#[^\n]*\n\s*)*")


def concern(source: str, style: Style = "explicit", known: Known | None = None) -> Concern:
    """Tell what the rules of this style could change or report in this file, given what is known of its tree."""
    mentioned = mentions(source)
    # The accelerator target knows generic spellings only for what names CUDA.
    if not mentioned and style == "accelerator":
        return "no"
    # Without comments and what is in three quotes; a function, as `re` takes longer over a template.
    code = PROSE.sub(lambda found: found[0] if found[1] else "", source)
    if mentioned and (mentions(code) or _mentioned_in_code(source)):
        return "cuda"
    if style == "accelerator":
        return "no"
    made = _makes_a_device(code, known or Known())
    if made == "unknown" and shows_real_devices(source, known or Known()):
        return "no"
    return "device" if made else "no"


def _makes_a_device(text: str, known: Known) -> Literal["", "made", "unknown"]:
    """Tell whether a device is made of what a person typed, a checkpoint loaded, or memory pinned.

    Or torch only given one of unknown origin. ``torch.device`` itself counts where it is called or handed on,
    not in an annotation.
    """
    if "torch" not in text:
        return ""
    roots = {"torch", *_ALIAS.findall(text)}
    for given in _FROM.findall(text):
        names = set(_NAME.findall(given))
        roots |= names
    ours = _ours(frozenset(roots))
    if _PINNED.search(text) or _of_settings(text):
        return "made"
    if "device=" in text and MAKERS.search(text) is not None:
        return "made"
    if "device_ids" in text or ORDINAL_MOVES.search(text):
        return "made"
    if "load_from_checkpoint(" in text and _LIGHTNINGS.search(text) is not None:
        return "made"
    for word, pattern in _MAKER.items():
        for found in pattern.finditer(text):
            start, end = found.span()
            before = text[max(0, start - _REACH) : start]
            if word == "device":
                # What may end in `cfg.` or `cfg.my_`; the pattern looks everywhere for its start.
                dotted = before.endswith("_") or before.rstrip().endswith(".")
                if (dotted and _SETTING.search(before)) or _NUMBER.match(text, end):
                    return "made"
                if not (_CALLED.match(text, end) or _HANDED.search(before)):
                    continue
            if ours.search(before + found.group()):
                loaded = _LOADED_TO_THE_CPU.get(word)
                if loaded is None or loaded.match(text, end) is None:
                    return "made"
    return "unknown" if gives_unknown_device(text, ours, known) else ""


def _of_settings(text: str) -> bool:
    """Tell whether a device is read out of a mapping that holds what a person typed, or what a function hands on as a whole."""
    for found in _KEY.finditer(text):
        before = text[max(0, found.start() - _REACH) : found.start()]
        if _KEY_OF.search(before):
            return True
        asked = _ASKED.search(before)
        if asked is not None and f"**{asked[1]}" in text:
            return True
    return False


@lru_cache(maxsize=1024)
def _ours(roots: frozenset[str]) -> re.Pattern[str]:
    """Matches text that ends in a name of torch: ``th.device``, or ``load`` that was imported."""
    names = "|".join(map(re.escape, sorted(roots)))
    return re.compile(rf"(?<![\w.])(?:{names})(?:\s*\.\s*\w+)*\Z")


def _docstring(source: str, start: int) -> bool:
    """Tell whether a string that starts here is certainly one: below a header, or first in the file."""
    line = source.rfind("\n", 0, start) + 1
    if source[line:start].strip() not in ("", "r"):
        return False
    if _HEADER_ABOVE.search(source, max(0, line - _REACH * 4), line):
        return True
    return _COMMENTS.fullmatch(source, 0, line) is not None


def _mentioned_in_code(source: str) -> bool:
    """Python's own answer; True for what it cannot parse, which then goes on to the rules."""
    strings = (f for f in PROSE.finditer(source) if f.group()[0] != "#" and mentions(f.group()))
    if all(_docstring(source, found.start()) for found in strings):
        return False
    try:
        tree = parse(source.lstrip("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    # Only statements on a line with one of the words are looked into.
    lines = [0, *(found.end() for found in _LINE_END.finditer(source))]
    said = sorted({bisect.bisect_right(lines, at) for at in signs(source)})
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.stmt) and not _among(said, node):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            text = ast.unparse(node)
        elif isinstance(node, ast.Attribute):
            text = node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            text = ""
        if text and mentions(text):
            return True
        stack.extend(ast.iter_child_nodes(node))
    return False


def _among(lines: list[int], node: ast.stmt) -> bool:
    """Tell whether one of these lines is among those of a statement."""
    first = min((d.lineno for d in getattr(node, "decorator_list", ())), default=node.lineno)
    index = bisect.bisect_left(lines, first)
    return index < len(lines) and lines[index] <= (node.end_lineno or first)
