"""The columns of the catalog: route, evidence, what was asserted, and note of each cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generator.facts.model import Member
from generator.plan.compat import Compat
from generator.plan.emission import own_backend
from generator.plan.evidence import Evidence
from generator.plan.routes import BACKENDS, Capability

__all__ = ["REMOVED", "Columns", "columns_of_routed", "columns_of_same", "columns_of_translated"]

Columns = dict[str, dict[str, Any]]
_ORDER = ("cpu", "cuda", "mps", "mlx", "sim")
# The public functions of this module are those that torch has removed: all raise. Source: torch/_linalg_utils.py.
_REMOVED_IN = "torch._linalg_utils"
REMOVED = "removed: torch's own function raises, and names its successor"


def columns_of_routed(
    capability: Capability, spelling: str, name: str, evidence: Evidence
) -> Columns:
    """Return the columns of one spelling of a capability; evidence goes by the member's own name."""
    columns: Columns = {}
    for backend in _ORDER:
        cell = capability.cells[backend]
        route = "native" if backend == own_backend(spelling) else cell.route
        note = cell.note
        if cell.route == "unsupported" and route == "unsupported":
            note = f"{cell.why}; instead: {cell.instead}"
        at_home = route == "native" and backend == own_backend(spelling)
        columns[backend] = {
            "route": route,
            **evidence.of(name, backend, own=at_home or route == "same"),
            "note": "" if route == "native" and cell.route != "native" else note,
            **({"ignores": dict(cell.ignores)} if cell.ignores and not at_home else {}),
        }
    return columns


def columns_of_translated(
    member: Member, lacking: Mapping[str, str], evidence: Evidence
) -> Columns:
    """Return a function whose device arguments are translated: torch's own runs on the target.

    ``lacking`` says of backends whose device refuses the call why it does.
    """
    return {
        backend: {
            "route": "unsupported" if backend in lacking else "native",
            **evidence.of(member.name, backend, own=backend == own_backend(member.name)),
            "note": lacking.get(
                backend, "device arguments are translated, then torch's own function runs"
            ),
        }
        for backend in _ORDER
    }


def columns_of_same(
    member: Member, compat: Compat, lacking: Mapping[str, str], evidence: Evidence
) -> Columns:
    """Return a member that the mirror hands out as it is: torch's dispatcher decides, and the note says how.

    What one torch has removed another still computes: that a test has called it there is no evidence for this one.
    """
    if member.defined_in == _REMOVED_IN:
        cell = {"route": "same", "evidence": "inherited", "asserted": "", "note": REMOVED}
        return {backend: dict(cell) for backend in _ORDER}
    known = compat.cells(member)
    support = {
        **known,
        # Its memory is the host's, and torch's kernels for the CPU run on it.
        **({"sim": known["cpu"]} if "cpu" in known else {}),
        **{backend: ("unsupported", why) for backend, why in lacking.items()},
    }
    columns: Columns = {}
    for backend in _ORDER:
        route, note = support.get(backend, ("same", ""))
        columns[backend] = {
            "route": route,
            **evidence.of(member.name, backend, own=True),
            "note": note,
        }
    return columns


assert set(_ORDER) == set(BACKENDS)
