"""Reduce docstrings to a summary, and find what they say about deprecation."""

from __future__ import annotations

import re
import types

_SIGNATURE = re.compile(r"^[\w.]+\(.*\)(\s*(->|→).*)?(\s*[-:—]+)?$")
_SENTENCE = re.compile(r"(?<![A-Z]\.)(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)[.!?](?=\s|$)")
_DIRECTIVE = re.compile(r"\.\. deprecated::\s*(.*)", re.DOTALL)
_LONGEST = 300  # characters; a summary is one sentence, not a page that forgot its full stops


def summary(doc: object) -> str:
    """First sentence of a docstring on one line; ``""`` where there is none.

    A leading signature (``add(input, other) -> Tensor``), section rules and directives are not
    sentences and are passed over.
    """
    if not isinstance(doc, str):
        return ""
    for paragraph in re.split(r"\n\s*\n", doc.strip()):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        text = " ".join(" ".join(_without_signature(lines)).split())
        if not text or text.startswith(".. ") or not re.search(r"\w", text):
            continue
        match = _SENTENCE.search(text)
        text = text[: match.end()] if match else text
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} …"
    return ""


def _without_signature(lines: list[str]) -> list[str]:
    """Drop signatures at the start, also those that run over several lines."""
    rest = [line for line in lines if line and not re.fullmatch(r"[-=~^*#\s]+", line)]
    while rest:
        for size in range(1, min(len(rest), 12) + 1):
            joined = " ".join(rest[:size])
            balanced = joined.count("(") == joined.count(")")
            if balanced and _SIGNATURE.match(joined):
                rest = rest[size:]
                break
        else:
            return rest
    return rest


def own_doc(value: object) -> object:
    """Return the docstring that an object brings itself: none inherited, none made up by the library."""
    if isinstance(value, type):
        doc = value.__doc__
        if not isinstance(doc, str):
            return doc
        # dataclass and NamedTuple write "Name(field: type = default)"; Enum of Python 3.10 has a sentence of its own,
        # behind which torch's decorators write.
        if doc.startswith(f"{value.__name__}(") and "\n" not in doc:
            return None
        return doc.removeprefix("An enumeration.") or None
    if isinstance(value, types.ModuleType) or callable(value) and not _documents_its_type(value):
        return getattr(value, "__doc__", None)
    return None


def _documents_its_type(value: object) -> bool:
    return getattr(value, "__doc__", None) == getattr(type(value), "__doc__", None)


def deprecation(value: object) -> str | None:
    """Return what an object says about its deprecation: PEP 702's mark, a directive, or its summary."""
    if isinstance(value, type):
        mark = vars(value).get("__deprecated__")
    else:
        mark = getattr(value, "__dict__", {}).get("__deprecated__")
    if isinstance(mark, str):
        return " ".join(mark.split())
    doc = own_doc(value)
    if not isinstance(doc, str):
        return None
    found = _DIRECTIVE.search(doc)
    if found:
        return summary(re.sub(r"^[\d.]+\s*", "", found.group(1))) or "deprecated"
    first = summary(doc)
    if re.search(r"\bdeprecated\b", first, re.IGNORECASE):
        return first
    return None
