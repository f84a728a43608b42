"""Write the catalog's rows, of JSON types only: a module, a member, a definition of a mirror."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from generator.errors import GenerationError
from generator.facts.model import Member, Module
from generator.plan.emission import Emitted

__all__ = ["category", "definition_row", "member_row", "module_row"]


def module_row(module: Module, loaded: Collection[str]) -> dict[str, Any]:
    """Return a module; ``loaded`` are private submodules without a stub that ``import torch`` makes attributes of it."""
    children = {leaf for leaf, target in module.modules if target == f"{module.name}.{leaf}"}
    offered = {*module.names, *module.declared, *children}
    typed = sorted(name for name in module.visible if name in offered or _is_private(name))
    return {
        "summary": module.summary,
        "package": module.is_package,
        "names": list(module.names),
        "modules": [list(pair) for pair in module.modules],
        "typed": typed,
        "loaded": sorted({*loaded} - {*typed}),
        "missing": list(module.missing),
    }


def member_row(
    member: Member, category: tuple[str, str], mirror: str, devices: Collection[str]
) -> dict[str, Any]:
    """Return a member but for its columns; ``mirror`` says how the mirror hands it out."""
    row: dict[str, Any] = {
        "kind": member.kind,
        "signatures": [
            {
                "parameters": [
                    {
                        "name": parameter.name,
                        "kind": parameter.kind,
                        "default": parameter.default,
                        "annotation": parameter.annotation,
                    }
                    for parameter in signature.parameters
                ],
                "returns": signature.returns,
            }
            for signature in member.signatures
        ],
        "source": member.source,
        "summary": member.summary,
        "deprecated": member.deprecated,
        "category": category[0],
        "priority": category[1],
        "exports": list(member.exports),
        "helper": member.helper,
        "mirror": mirror,
        "devices": list(devices),
    }
    if member.value is not None:
        row["value"] = member.value
    return row


def category(member: Member, categories: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Category and priority by the longest prefix in ``categories.toml``.

    Raises:
        GenerationError: no prefix fits.
    """
    if member.helper and "helpers" in categories:
        return categories["helpers"]
    parts = member.name.split(".")
    for cut in range(len(parts), 0, -1):
        found = categories.get(".".join(parts[:cut]))
        if found is not None:
            return found
    raise GenerationError(
        f"categories.toml: no category for {member.name}; it needs an entry for 'torch'."
    )


def definition_row(emitted: Emitted) -> dict[str, Any]:
    """Return a definition of an emitted module."""
    row = asdict(emitted)
    row["arms"] = [{"backends": list(arm.backends), "body": list(arm.body)} for arm in emitted.arms]
    row["modules"] = list(emitted.modules)
    del row["lacking"]
    return row


def _is_private(name: str) -> bool:
    """Tell whether libraries may use it all the same, as they do ``_Loss``; not ``_``, nor ``__all__`` and its like."""
    return name.startswith("_") and name != "_" and not name.endswith("__")
