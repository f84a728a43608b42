"""List what another build of torch, another Python or another machine would say differently."""

from __future__ import annotations

from generator.facts.members import Collected
from generator.facts.origins import Origins
from generator.facts.sources import ROOTS
from generator.facts.walk import Walked

# What was found by reading torch's source and cannot be seen on one machine.
_KNOWN = (
    "Values in torch.version are facts about the build and are left out.",
    "Settings computed by module classes (kind flag) are listed without their value.",
    "Members that torch only re-exports (helper) are listed without signature and summary: they "
    "belong to Python or another package and change with its version.",
    "torch takes every public name of its C++ module torch._C: a build for another accelerator may "
    "add some.",
    "torch.distributed.ProcessGroupNCCL is a class of the CUDA build and is left out; "
    "torch.backends.cudnn.benchmark_limit and default_pg_nccl_timeout have a value there only.",
    "torch.ops and torch.classes grow while a program runs: only their own attributes are listed.",
    "Base classes that are private are left out: a CPU build puts dummies in the place of CUDA's.",
)
# Conditions that hold for a type checker or a script, never for an import.
_NEVER = ("TYPE_CHECKING", "__name__")


def differences(walked: Walked, collected: Collected, origins: Origins) -> tuple[str, ...]:
    """Sentences in sorted order, each about one module or rule.

    Names that a module binds only under a condition are found in its text, so that the list is the
    same on a machine where the condition holds and on one where it does not.
    """
    found = set(_KNOWN)
    for name, reason in walked.skipped:
        found.add(f"{name} is not walked: {reason}.")
    replaced: dict[str, list[str]] = {}
    for name in walked.rebound:
        package, _, attribute = name.rpartition(".")
        replaced.setdefault(package, []).append(attribute)
    for package, attributes in replaced.items():
        found.add(
            f"{package} has attributes that are other objects until the submodule of that name is "
            f"imported, and are listed as those: {', '.join(attributes)}."
        )
    for name in walked.modules:
        source = origins.source(name)
        if source is None:
            continue
        if "typing" in source.stars:
            found.add(
                f"{name} takes everything from typing: names that typing gained after Python 3.10 "
                "are left out."
            )
        if source.versioned:
            found.add(
                f"{name} imports {', '.join(sorted(source.versioned))} for some versions of Python "
                "only: left out."
            )
        by_condition: dict[str, list[str]] = {}
        for bound, conditions in sorted(source.conditions.items()):
            if bound.startswith("_") or bound in source.unconditional or len(conditions) != 1:
                continue
            target = source.imports.get(bound, "")
            if target and target.partition(".")[0] not in ROOTS:
                continue  # a helper, and listed as such
            (condition,) = conditions
            if any(word in condition for word in _NEVER):
                continue
            by_condition.setdefault(condition, []).append(bound)
        for condition, names in by_condition.items():
            found.add(f"{name} has {', '.join(names)} only under a condition: {condition}.")
    for module in collected.modules:
        if module.missing:
            found.add(
                f"{module.name} declares {', '.join(module.missing)} in __all__ and does not have "
                "them in this build."
            )
    return tuple(sorted(found))
