"""Suggest what to write into the routes for a name that has none: the file, the nearest capability, a stanza."""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
from collections.abc import Iterable

from generator.facts.model import Member
from generator.plan.plan import in_scope
from generator.plan.routes import Capability
from generator.upgrade.changes import signature_text

__all__ = ["suggestion"]


def suggestion(member: Member, capabilities: Iterable[Capability], packages: Iterable[str]) -> str:
    """Return Markdown: what ``member`` is, where its neighbours in ``packages`` are answered, what to paste there."""
    spelled = {
        dotted: capability
        for capability in capabilities
        for dotted in capability.spellings
        if in_scope(dotted, packages)
    }
    nearest = _nearest({member.name, *member.exports}, spelled)
    lines = [f"  - {_shape(member)}"]
    if member.summary:
        lines.append(f"  - torch: {member.summary}")
    if nearest is not None:
        capability = spelled[nearest]
        lines.append(
            f"  - nearest: `{nearest}`, {capability.where}: if it means the same, add there"
        )
        lines.append(f'    `spellings."{_path(member)}" = {_renames(member, capability)}`')
    neighbour = max(spelled, key=lambda other: _likeness(member.name, other)[::-1], default=None)
    file = f" into {spelled[neighbour].where.partition(':')[0]}" if neighbour else ""
    lines.append(f"  - else paste{file} and complete:")
    lines += [f"    {line}" for line in ("```toml", *_stanza(member), "```")]
    return "\n".join(lines)


def _path(member: Member) -> str:
    return min(member.exports or (member.name,), key=len)


def _shape(member: Member) -> str:
    if member.kind == "class":
        return "a class"
    texts = [signature_text(signature) for signature in member.signatures] or [
        "(signature unknown)"
    ]
    return f"`{member.name.rpartition('.')[2]}{texts[0]}`" + (
        f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    )


def _nearest(names: Iterable[str], spelled: Iterable[str]) -> str | None:
    """Return the routed name that is most like one of a member's: by its last part first, then by its module.

    In another module hardly any letter may differ: ``is_localization_supported`` is no ``is_tf32_supported``.
    """
    like = []
    for name, other in itertools.product(names, spelled):
        leaf, module = _likeness(name, other)
        if leaf >= (0.6 if module == 1 else 0.9):
            like.append((leaf, module, other))
    return max(like)[-1] if like else None


def _likeness(dotted: str, other: str) -> tuple[float, float]:
    """Return how like two names are: their last parts, and the modules before."""
    (home, _, leaf), (module, _, last) = dotted.rpartition("."), other.rpartition(".")
    return (
        round(difflib.SequenceMatcher(None, leaf, last).ratio(), 1),
        difflib.SequenceMatcher(None, home, module).ratio(),
    )


def _parameters(member: Member) -> list[str]:
    return [p.name for p in member.signatures[0].parameters] if member.signatures else []


def _renames(member: Member, capability: Capability) -> str:
    """Return the table that leads from the names which the cells use to the parameters of ``member``.

    What it has nothing like is None, as for the current device of a function that takes no device.
    """
    own = _parameters(member)
    texts = [text for cell in capability.cells.values() for text in (cell.call, cell.check) if text]
    used = dict.fromkeys(name for text in texts for name in _names(text))
    pairs = []
    for name in used:
        if name not in own:
            like = [one for one in own if one not in used and (name in one or one in name)]
            pairs.append(f'{name} = "{like[0] if like else None}"')
    return f"{{ {', '.join(pairs)} }}" if pairs else "{}"


def _names(expression: str) -> list[str]:
    """Return the parameters that an expression of a cell uses, in order."""
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    modules = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    return [
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and node not in modules and not hasattr(builtins, node.id)
    ]


def _stanza(member: Member) -> list[str]:
    path = _path(member)
    call = f'call = "….{path.rpartition(".")[2]}({", ".join(_parameters(member))})"'
    answer, refused = ('object = "…"',) * 2 if member.kind == "class" else (call, "")
    return [
        f"[{'_'.join(path.split('.')[1:])}]",
        f'spellings."{path}" = {{}}',
        (
            'cuda = { route = "native" }'
            if path.startswith("torch.cuda.")
            else f'cuda = {{ route = "mapped", {answer} }}'
        ),
        f'"mps,mlx,sim,cpu" = {{ route = "emulated", {answer} }}',
        f'# or: {{ route = "unsupported", {refused and refused + ", "}why = "…", instead = "…" }}',
        *(["# its object is a class of tdev_core that raises when it is made"] if refused else []),
    ]
