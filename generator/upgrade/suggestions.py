"""What to write into the routes for a name that has none: the file, the nearest capability, a stanza."""

from __future__ import annotations

import difflib
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
    nearest = _nearest(member.name, spelled)
    lines = [f"  - {_shape(member)}"]
    if member.summary:
        lines.append(f"  - torch: {member.summary}")
    if nearest is not None:
        capability = spelled[nearest]
        lines.append(
            f"  - nearest: `{nearest}`, {capability.where}: if it means the same, add there"
        )
        lines.append(f'    `spellings."{_path(member)}" = {{}}`')
    lines.append("  - else paste and complete:")
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


def _nearest(dotted: str, spelled: Iterable[str]) -> str | None:
    """Return the routed name that is most like ``dotted``: by its last part first, then by its module."""
    names = list(spelled)
    home, _, leaf = dotted.rpartition(".")

    def likeness(other: str) -> tuple[float, float]:
        module, _, last = other.rpartition(".")
        return (
            round(difflib.SequenceMatcher(None, leaf, last).ratio(), 1),
            difflib.SequenceMatcher(None, home, module).ratio(),
        )

    best = max(names, key=likeness, default=None)
    return best if best is not None and likeness(best)[0] >= 0.6 else None


def _stanza(member: Member) -> list[str]:
    path = _path(member)
    answer = 'object = "…"' if member.kind == "class" else 'call = "…"'
    return [
        f"[{'_'.join(path.split('.')[1:])}]",
        f'spellings."{path}" = {{}}',
        (
            'cuda = { route = "native" }'
            if path.startswith("torch.cuda.")
            else f'cuda = {{ route = "mapped", {answer} }}'
        ),
        f'"mps,mlx,sim,cpu" = {{ route = "emulated", {answer} }}',
        '# or: { route = "unsupported", why = "…", instead = "…" }',
    ]
