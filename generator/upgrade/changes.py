"""List what another torch has, lacks and spells differently, told from the catalog of the torch before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from generator.facts.model import Facts, Signature

__all__ = ["Changes", "compare", "signature_text"]

Catalog = Mapping[str, Any]

# A signature: each parameter by its name with kind, default and annotation, and what it returns.
_Read = tuple[dict[str, tuple[str, str | None, str | None]], str | None]


@dataclass(frozen=True)
class Changes:
    """The names that another torch has, lacks and spells differently; every list sorted.

    Attributes:
        before: version of the torch that the catalog was made from.
        after: version of the installed one.
        added: new public members; ``removed`` the ones that are gone.
        modules_added: new public modules; ``modules_removed`` the ones that are gone.
        signatures: members whose signature changed, with what changed in it, an edit in each line.
        routed: those of ``removed`` and ``signatures`` that the mirror wraps or routes.
    """

    before: str
    after: str
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    modules_added: list[str] = field(default_factory=list)
    modules_removed: list[str] = field(default_factory=list)
    signatures: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    routed: list[str] = field(default_factory=list)


def compare(before: Catalog, facts: Facts) -> Changes:
    """Return the changes from the torch of the catalog ``before`` to that of ``facts``."""
    # Private names are in the catalog where they are routed; the facts are about public ones.
    old = {name: row for name, row in before["members"].items() if not _is_private(name)}
    # What a module of torch has only imported from elsewhere nobody reads about.
    old = {name: row for name, row in old.items() if not row["helper"]}
    new = {member.name: member for member in facts.members if not member.helper}
    removed = sorted(old.keys() - new.keys())
    changed = []
    for name in sorted(old.keys() & new.keys()):
        was = [_of_row(signature) for signature in old[name]["signatures"]]
        edits = _edits(was, [_of_facts(signature) for signature in new[name].signatures])
        if edits:
            changed.append((name, edits))
    wrapped = {name for name, row in old.items() if row["mirror"] != "same"}
    modules = {module.name for module in facts.modules if module.error is None}
    return Changes(
        before["torch"],
        facts.torch,
        sorted(new.keys() - old.keys()),
        removed,
        sorted(modules - before["modules"].keys()),
        sorted(before["modules"].keys() - modules),
        changed,
        sorted(wrapped & {*removed, *(name for name, _ in changed)}),
    )


def _is_private(dotted: str) -> bool:
    return dotted.rpartition(".")[2].startswith("_")


def _of_row(row: Mapping[str, Any]) -> _Read:
    parameters = {p["name"]: (p["kind"], p["default"], p["annotation"]) for p in row["parameters"]}
    return parameters, row["returns"]


def _of_facts(signature: Signature) -> _Read:
    parameters: dict[str, tuple[str, str | None, str | None]] = {
        p.name: (p.kind, p.default, p.annotation) for p in signature.parameters
    }
    return parameters, signature.returns


def _edits(before: Sequence[_Read], after: Sequence[_Read]) -> tuple[str, ...]:
    """Return what changed; of several overloads, those that are new and those that are gone."""
    if len(before) == len(after) == 1:
        return tuple(_parameter_edits(before[0], after[0]))
    gone = [one for one in before if one not in after]
    new = [one for one in after if one not in before]
    return (
        *(f"- overload {_line(*one)}" for one in gone),
        *(f"+ overload {_line(*one)}" for one in new),
    )


def _parameter_edits(before: _Read, after: _Read) -> list[str]:
    (was, returned), (now, returns) = before, after
    edits = [f"- {_parameter(name, *was[name])}" for name in was if name not in now]
    edits += [f"+ {_parameter(name, *now[name])}" for name in now if name not in was]
    for name in was:
        if name in now and was[name] != now[name]:
            edits.append(f"~ {_parameter(name, *was[name])} → {_parameter(name, *now[name])}")
    if [name for name in was if name in now] != [name for name in now if name in was]:
        edits.append(f"~ order: {', '.join(now)}")
    if returned != returns:
        edits.append(f"~ returns {returned} → {returns}")
    return edits


def signature_text(signature: Signature) -> str:
    """Return a signature as Python has it."""
    return _line(*_of_facts(signature))


def _line(parameters: Mapping[str, tuple[str, str | None, str | None]], returns: str | None) -> str:
    parts: list[str] = []
    starred = False
    for name, (kind, default, annotation) in parameters.items():
        if kind == "keyword_only" and not starred:
            parts.append("*")
        starred = starred or kind in ("keyword_only", "var_positional")
        parts.append(_parameter(name, kind, default, annotation, keyword="").strip())
    return f"({', '.join(parts)})" + (f" -> {returns}" if returns else "")


def _parameter(
    name: str, kind: str, default: str | None, annotation: str | None, keyword: str = "*, "
) -> str:
    star = {"var_positional": "*", "var_keyword": "**", "keyword_only": keyword}.get(kind, "")
    text = f"{star}{name}" + (f": {annotation}" if annotation else "")
    return text + (f" = {default}" if default is not None else "")
