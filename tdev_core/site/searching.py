"""Makes the search index: every name of torch, what it leads to, how each backend answers it; and the documents.

It is a script, because a page that is opened from ``file://`` may load no other kind of data. Names are sorted
and front-coded: each line starts with one character, the number of characters that it shares with the line
before (plus 32). ``assets/search.js`` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from os.path import commonprefix

from tdev_core.site.catalog import BACKENDS, Catalog, Member
from tdev_core.site.documents import Document

__all__ = ["KINDS", "front_coded", "index"]

KINDS = {
    "function": "f",
    "builtin": "b",
    "class": "c",
    "constant": "k",
    "instance": "i",
    "type_alias": "t",
    "flag": "g",
}
_SHARED_FROM = 32
_LONGEST = 90
_COMBINATIONS_FROM = 48


def index(catalog: Catalog, documents: Iterable[Document]) -> str:
    """Return the script that hands the index to ``tdevIndex``.

    A document is found by its title and by its file's name, which of a rule is the rule, and of an error its number.
    """
    members = list(catalog.members.values())
    number = {member.name: at for at, member in enumerate(members)}
    combinations: dict[str, int] = {}
    attributes = []
    for member in members:
        answer = " ".join(member.cells[backend].route for backend in BACKENDS)
        which = combinations.setdefault(answer, len(combinations))
        kind = KINDS[member.kind]
        attributes.append(
            chr(_COMBINATIONS_FROM + which)
            + (kind.upper() if member.special else kind)
            + ("9" if member.helper else member.priority[1])
        )
    others = sorted((name, number[member.name]) for member in members for name in _others(member))
    gone = {
        one.name: one.successor if one.successor in catalog.by_name else "" for one in catalog.gone
    }
    body = {
        "backends": BACKENDS,
        "answers": [answer.split(" ") for answer in combinations],
        "kinds": {sign: kind for kind, sign in KINDS.items()},
        "names": front_coded(member.name for member in members),
        "attributes": "".join(attributes),
        "others": front_coded(name for name, _ in others),
        "othersOf": [at for _, at in others],
        "modules": front_coded(sorted(catalog.modules)),
        "methods": front_coded(sorted(catalog.shims)),
        "gone": gone,
        "documents": [[document.title, document.address] for document in documents],
    }
    return f"tdevIndex({json.dumps(body, ensure_ascii=False, separators=(',', ':'))});\n"


def _others(member: Member) -> Iterable[str]:
    return (name for name in member.names if name != member.name)


def front_coded(names: Iterable[str]) -> str:
    """Return sorted names as text, each without what it shares with the one before."""
    lines = []
    last = ""
    for name in names:
        shared = min(len(commonprefix([last, name])), _LONGEST)
        lines.append(chr(_SHARED_FROM + shared) + name[shared:])
        last = name
    return "\n".join(lines)
