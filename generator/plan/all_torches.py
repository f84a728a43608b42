"""Plan the catalog of the installed torch, and of all others that are recorded."""

from __future__ import annotations

from typing import Any

from generator import paths, union
from generator.facts import deltas, introspect
from generator.facts.model import Facts
from generator.plan.evidence import read_evidence
from generator.plan.plan import plan_each, plan_one
from generator.plan.routes import read_routes

__all__ = ["all_facts", "planned", "planned_alone"]


def all_facts() -> list[Facts]:
    """Return the facts of the installed torch, which is the pinned one, and of all that are recorded."""
    facts = introspect()
    return [facts, *(deltas.applied(facts, deltas.read(version)) for version in deltas.recorded())]


def planned() -> dict[str, Any]:
    """Return the catalog of every torch: the pinned one, which is installed, and those recorded.

    Raises:
        GenerationError: the curated files are not sound, or something is not decided.
        FactsError: another torch is installed.
    """
    # Curated files first: a typo in them should not cost the time of an introspection.
    routes = read_routes(paths.ROUTES)
    evidence = read_evidence(paths.EVIDENCE)
    every = all_facts()
    catalogs = plan_each(every, routes, evidence, paths.CORE)
    return union.join(catalogs, every[0].torch)


def planned_alone() -> dict[str, Any]:
    """Return the catalog of the installed torch, whichever that is, with its rows in order."""
    routes = read_routes(paths.ROUTES)
    evidence = read_evidence(paths.EVIDENCE)
    facts = introspect(allow_version=True)
    catalog = plan_one(facts, routes, evidence, paths.CORE)
    return union.view(union.join({facts.torch: catalog}, facts.torch), facts.torch)
