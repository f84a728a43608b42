"""The list of shims: every method and constructor through which a device can come in."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from generator.errors import Decision, GenerationError
from generator.facts.model import Facts, Member, Method
from generator.plan.core import Core
from generator.plan.emission import pinning
from generator.plan.routes import Routes, ShimRoute

__all__ = ["plan_shims"]

# An immutable C type; torch.Tensor is its subclass, and every tensor is a torch.Tensor.
_PLACES = {"torch._C.TensorBase": "torch.Tensor"}


def plan_shims(
    facts: Facts, routes: Routes, by_export: Mapping[str, Member], core: Core
) -> tuple[list[dict[str, Any]], list[Decision]]:
    """Return one row for each method to replace, sorted; and what has to be decided: nobody has about some methods,
    or entries match nothing.

    Complete by construction: a method with a parameter that is, or might be, a device either gets a
    row or has an entry in ``shims*.toml`` that says why it needs none.
    """
    curated = _by_owner(routes, by_export)
    used: set[str] = set()
    rows: list[dict[str, Any]] = []
    open_: list[Decision] = []
    for method in facts.methods:
        owner = _PLACES.get(method.owner, method.owner)
        dotted = f"{owner}.{method.name}"
        route = _route(dotted, curated)
        if route is None:
            if method.undecided:
                open_.append(_undecided(dotted, method))
                continue
            if method.devices:
                rows.append(_row(owner, method, method.devices + pinning(method), ""))
            continue
        used.add(route.where)
        if not route.none:
            rows.append(_row(owner, method, route.devices, _factory(route, core)))
    classes = _classes(facts)
    for dotted, route in curated.items():
        owner, _, name = dotted.rpartition(".")
        if route.where in used:
            continue
        if route.factory and (owner in classes or _is_private(owner, facts)):
            # A method that takes no device and yet cannot be left alone, such as a check for CUDA, or
            # one of a base that no public class has a method from.
            factory = _factory(route, core)
            rows.append({"owner": owner, "name": name, "devices": [], "factory": factory})
        else:
            open_.append(
                Decision(
                    f"{route.where}: torch {facts.torch} has no such method that takes a device. Correct the name, or "
                    "delete the entry if torch dropped it.",
                    absent=route.where,
                )
            )
    return sorted(rows, key=lambda row: (row["owner"], row["name"])), open_


def _undecided(dotted: str, method: Method) -> Decision:
    names = ", ".join(method.undecided)
    return Decision(
        f"{dotted}({names}): a parameter that may or may not be a device. Decide in generator/routes/shims.toml: "
        f'["{dotted}"] with devices = [...], or none = "why it needs no shim".',
        dotted,
    )


def _by_owner(routes: Routes, by_export: Mapping[str, Member]) -> dict[str, ShimRoute]:
    """Return the entries under the name of the class that defines the method, as the facts spell it."""
    result: dict[str, ShimRoute] = {}
    for dotted, route in routes.shims.items():
        owner, _, name = dotted.rpartition(".")
        member = by_export.get(owner)
        result[f"{member.name}.{name}" if member is not None else dotted] = route
    return result


def _route(dotted: str, curated: Mapping[str, ShimRoute]) -> ShimRoute | None:
    exact = curated.get(dotted)
    if exact is not None:
        return exact
    matches = [pattern for pattern in curated if "*" in pattern and fnmatchcase(dotted, pattern)]
    return curated[max(matches, key=len)] if matches else None


def _row(owner: str, method: Method, devices: tuple[str, ...], factory: str) -> dict[str, Any]:
    return {
        "owner": owner,
        "name": method.name,
        "devices": [] if factory else [[name, _position(method, name)] for name in devices],
        "factory": factory,
    }


def _factory(route: ShimRoute, core: Core) -> str:
    """Return the factory of an entry, its module as a dotted path; empty if it has none."""
    if not route.factory:
        return ""
    module, _, function = route.factory.partition(":")
    dotted = core.find(module, route.where)
    core.definition(dotted, function, route.where)  # that there is one
    return f"{dotted}:{function}"


def _position(method: Method, name: str) -> int | None:
    positions = {
        None if parameter.kind == "keyword_only" else number
        for signature in method.signatures
        for number, parameter in enumerate(signature.parameters)
        if parameter.name == name
    }
    if None in positions and method.source == "stub":
        return None  # the stub lists a positional form beside it that the C parser does not take
    if len(positions) > 1:
        raise GenerationError(
            f"{method.owner}.{method.name}: {name!r} stands at different places in its overloads; "
            "write a factory for it in generator/routes/shims.toml."
        )
    return positions.pop() if positions else None


def _classes(facts: Facts) -> set[str]:
    public = {member.name for member in facts.members if member.kind == "class"}
    return public | {method.owner for method in facts.methods} | {"torch.Tensor"}


def _is_private(owner: str, facts: Facts) -> bool:
    """Tell whether the facts, which are about what is public, cannot know the class ``owner``.

    A test looks for it in the installed torch.
    """
    module, _, name = owner.rpartition(".")
    if any(part.startswith("_") for part in module.split(".")):
        return True
    return name.startswith("_") and any(known.name == module for known in facts.modules)
