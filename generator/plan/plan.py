"""Join facts and routes into the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from generator.catalog import SCHEMA
from generator.errors import GenerationError
from generator.facts import composites
from generator.facts.model import Facts, Member
from generator.plan.cells import Columns, columns_of_routed, columns_of_same, columns_of_translated
from generator.plan.compat import Compat, mlx_operators
from generator.plan.core import Core
from generator.plan.devices import curated_devices, device_parameters, undecided_error
from generator.plan.emission import (
    Emitted,
    asked,
    emit_bound,
    emit_routed,
    emit_translated,
    own_backend,
)
from generator.plan.evidence import Evidence
from generator.plan.planned import Planned, check_planned
from generator.plan.private import catalogued, loaded
from generator.plan.routes import Capability, Routes
from generator.plan.shims import plan_shims

_CALLABLE = frozenset({"function", "builtin"})

# Modules of ``tdev_core`` that templates import, whatever the routes say.
_IN_TEMPLATES = (
    "adoption",
    "backend",
    "calls",
    "checkers",
    "cli",
    "codemod.cli",
    "devices",
    "errors",
    "install",
    "launch",
    "pytest_plugin",
    "report",
)


def plan(facts: Facts, routes: Routes, evidence: Evidence, core: Path) -> dict[str, Any]:
    """Decide how every member of torch is answered.

    Args:
        facts: what was introspected.
        routes: what was curated.
        evidence: what tests have executed.
        core: the folder of ``tdev_core``, whose modules the routes' expressions may use.

    Returns:
        The catalog, made of JSON types only.

    Raises:
        GenerationError: a route names something torch does not have, a function that needs a route
            has none, or a route cannot be emitted.
    """
    return _Planner(facts, routes, evidence, core).catalog()


class _Planner:
    def __init__(self, facts: Facts, routes: Routes, evidence: Evidence, core: Path) -> None:
        self.facts = facts
        self.routes = routes
        self.evidence = evidence
        self.core = Core(core)
        self.compat = Compat(
            facts.operators, mlx_operators(self.core), composites.read(facts.torch)
        )
        self.modules = {module.name: module for module in facts.modules if module.error is None}
        self.members = {member.name: member for member in facts.members}
        self.by_export = {path: member for member in facts.members for path in member.exports}
        self.capability_of: dict[str, tuple[Capability, str]] = {}
        self.emitted: dict[str, Emitted] = {}
        self.columns: dict[str, Columns] = {}
        self.devices: dict[str, tuple[str, ...]] = {}
        self.loaded = loaded(facts.private, routes.private)
        self.visible = {name: frozenset(module.visible) for name, module in self.modules.items()}

    def catalog(self) -> dict[str, Any]:
        self._resolve_spellings()
        self._check_scope()
        check_planned(self.routes.planned, self.by_export, self.facts.torch)
        self._decide_members()
        return {
            "schema": SCHEMA,
            "torch": self.facts.torch,
            "core": {name: self.core.find(name, "templates/") for name in _IN_TEMPLATES},
            "modules": {name: self._module(name) for name in sorted(self.modules)},
            "private": catalogued(self.facts.private, self.routes.private, self.facts.torch),
            "untyped": sorted(
                {module.name for module in self.facts.private} - self.routes.private.keys()
            ),
            "mirrors": self._mirrors(),
            "shims": self._shims(),
            "members": {name: self._member(name) for name in sorted(self.members)},
            "planned": {row.dotted: self._planned(row) for row in self.routes.planned},
            "skipped": [list(pair) for pair in self.facts.skipped],
            "differences": list(self.facts.differences),
        }

    # -- decisions ---------------------------------------------------------------------------------

    def _resolve_spellings(self) -> None:
        for capability in self.routes.capabilities:
            for spelling in capability.spellings:
                member = self.by_export.get(spelling) or self._private(spelling)
                if member is None:
                    raise GenerationError(
                        f"{capability.where}: torch {self.facts.torch} has no {spelling!r}. Correct "
                        "the spelling, or delete it if torch dropped the name."
                    )
                other = self.capability_of.get(member.name)
                if other is not None:
                    raise GenerationError(
                        f"{capability.where}: {spelling!r} is {member.name}, which "
                        f"{other[0].where} already answers as {other[1]!r}; list one of the names."
                    )
                self.capability_of[member.name] = (capability, spelling)

    def _private(self, spelling: str) -> Member | None:
        """A name with a leading underscore that large programs use; the facts hold public ones only."""
        home, _, name = spelling.rpartition(".")
        if not name.startswith("_") or name not in self.visible.get(home, ()):
            return None
        member = Member(
            spelling,
            "instance",
            summary="A private name of torch that large programs reach for.",
            exports=(spelling,),
            defined_in=home,
        )
        self.members[spelling] = self.by_export[spelling] = member
        return member

    def _check_scope(self) -> None:
        """Every function of the modules in scope has a route; a new one in torch announces itself."""
        lacking: list[str] = []
        for member in self.facts.members:
            if member.helper or member.kind not in (*_CALLABLE, "class"):
                continue
            if member.name in self.capability_of or member.name in self.routes.devices:
                continue
            if any(path.rpartition(".")[0] in self.routes.scope for path in member.exports):
                if not _defined_outside(member, self.routes.scope):
                    lacking.append(member.name)
        if lacking:
            raise GenerationError(
                f"{len(lacking)} members of modules in scope.toml have no route: "
                f"{', '.join(sorted(lacking))}. Add each as a spelling of a capability in "
                "generator/routes/."
            )

    def _decide_members(self) -> None:
        undecided: list[str] = []
        for name, member in self.members.items():
            if name in self.capability_of:
                capability, spelling = self.capability_of[name]
                self.columns[name] = columns_of_routed(capability, spelling, name, self.evidence)
                if all(cell.route == "same" for cell in capability.cells.values()):
                    continue
                self.emitted[name] = self._emit_capability(capability, spelling, member)
                continue
            devices, open_ = device_parameters(member, self.routes)
            undecided += [f"{name}({parameter})" for parameter in open_]
            curated = curated_devices(member, self.routes)
            lacking = curated.lacking if curated else {}
            if devices:
                self.devices[name] = devices
                self.emitted[name] = emit_translated(
                    self._home_name(member), member, devices, self.core, self._reached(member)
                )
                self.columns[name] = columns_of_translated(member, lacking, self.evidence)
            else:
                self.columns[name] = columns_of_same(member, self.compat, lacking, self.evidence)
        for dotted, route in self.routes.devices.items():
            if dotted not in self.by_export and dotted not in self.modules:
                raise GenerationError(
                    f"{route.where}: torch {self.facts.torch} has no {dotted!r}. Delete the entry if "
                    "torch dropped the name."
                )
        if undecided:
            raise undecided_error(undecided)

    def _emit_capability(self, capability: Capability, spelling: str, member: Member) -> Emitted:
        dotted = self._home_name(member)
        renamed = Capability(
            capability.id,
            capability.where,
            {dotted: capability.spellings[spelling]},
            capability.cells,
        )
        if member.kind in _CALLABLE and not _binds(capability):
            return emit_routed(renamed, dotted, member, self.core, self._reached(member))
        return emit_bound(renamed, dotted, member, self.core, self._reached(member))

    def _home_name(self, member: Member) -> str:
        """The path at which the mirror defines ``member``; every other export hands it on."""
        return member.name

    def _reached(self, member: Member) -> str:
        """An expression that reaches torch's own object, by attributes that lead there.

        ``torch.nn.parallel.replicate`` is a function although a module has that name too, so that
        nothing can be reached through it; and names that torch makes at run time are unknown to a
        type checker.
        """
        paths = sorted(member.exports, key=lambda path: (path != member.name, len(path), path))
        open_ = [path for path in paths if not self._shadowed(path.rpartition(".")[0])]
        dotted = open_[0] if open_ else paths[0]
        home, _, name = dotted.rpartition(".")
        if not open_:
            raise GenerationError(
                f"{member.name} cannot be reached by attributes from torch: a function hides its module. "
                "Say in generator/routes/devices.toml that none of its parameters is a device."
            )
        if name not in self.visible.get(home, ()):
            return f'vars({home})["{name}"]'
        return dotted

    def _seen(self, module: str) -> bool:
        """Whether a type checker that has read ``import torch`` knows the module by attributes."""
        while "." in module:
            parent, _, leaf = module.rpartition(".")
            if leaf not in self.visible.get(parent, ()):
                return False
            module = parent
        return True

    def _shadowed(self, module: str) -> bool:
        while "." in module:
            parent, _, leaf = module.rpartition(".")
            if leaf not in dict(self.modules[parent].modules):
                return True
            module = parent
        return False

    # -- what is emitted ---------------------------------------------------------------------------

    def _mirrors(self) -> dict[str, Any]:
        """The modules that need a module of their own: those that export a routed member, and their
        ancestors, since the import system binds a submodule on its package."""
        own: set[str] = {"torch"}
        for name in self.emitted:
            for path in self.members[name].exports:
                parts = path.split(".")[:-1]
                own |= {".".join(parts[:cut]) for cut in range(1, len(parts) + 1)}
        return {name: self._mirror(name, own) for name in sorted(own & set(self.modules))}

    def _mirror(self, module: str, own: set[str]) -> dict[str, Any]:
        here: list[Emitted] = []
        elsewhere: dict[str, str] = {}
        for name, emitted in self.emitted.items():
            for path in self.members[name].exports:
                home, _, attribute = path.rpartition(".")
                if home != module:
                    continue
                if path == emitted.torch_name:
                    here.append(emitted)
                else:
                    owner, _, original = emitted.torch_name.rpartition(".")
                    elsewhere[attribute] = f"tdev{owner[len('torch'):]}:{original}"
        here.sort(key=lambda emitted: emitted.name)
        backend = own_backend(module + ".")
        return {
            "package": self.modules[module].is_package or module == "torch",
            "summary": self.modules[module].summary,
            "home": backend.upper() if backend else None,
            "asked": asked(backend),
            "seen": self._seen(module),
            "modules": sorted({name for emitted in here for name in emitted.modules}),
            "kinds": sorted({emitted.kind for emitted in here}),
            "definitions": [_as_json(emitted) for emitted in here],
            "elsewhere": dict(sorted(elsewhere.items())),
        }

    def _shims(self) -> list[dict[str, Any]]:
        return plan_shims(self.facts, self.routes, self.by_export, self.core)

    # -- the catalog's rows ------------------------------------------------------------------------

    def _module(self, name: str) -> dict[str, Any]:
        module = self.modules[name]
        visible = self.visible[name]
        children = {leaf for leaf, target in module.modules if target == f"{name}.{leaf}"}
        typed = sorted(
            name
            for name in visible
            if name in module.names
            or name in module.declared
            or name in children
            or _is_private(name)
        )
        return {
            "summary": module.summary,
            "package": module.is_package,
            "names": list(module.names),
            "modules": [list(pair) for pair in module.modules],
            "typed": typed,
            "loaded": sorted(self.loaded.get(name, set()) - {*typed}),
            "missing": list(module.missing),
        }

    def _planned(self, row: Planned) -> dict[str, Any]:
        """A function of the migration plan: the member that answers for it, if any does."""
        member = self.by_export.get(row.successor or row.dotted)
        return {
            "category": row.category,
            "member": member.name if member is not None else None,
            "gone": row.gone,
            "successor": row.successor,
        }

    def _member(self, name: str) -> dict[str, Any]:
        member = self.members[name]
        category, priority = _category(name, member, self.routes.categories)
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
            "category": category,
            "priority": priority,
            "exports": list(member.exports),
            "helper": member.helper,
            "mirror": self.emitted[name].kind if name in self.emitted else "same",
            "devices": list(self.devices.get(name, ())),
        }
        if member.value is not None:
            row["value"] = member.value
        row.update(self.columns[name])
        return row


def _binds(capability: Capability) -> bool:
    return any(cell.object is not None for cell in capability.cells.values())


def _defined_outside(member: Member, scope: Iterable[str]) -> bool:
    """Whether ``member`` only passes through the modules in scope: torch defines it elsewhere."""
    home = member.name.rpartition(".")[0]
    return home not in scope


def _category(
    name: str, member: Member, categories: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    """Category and priority by the longest prefix in ``categories.toml``."""
    if member.helper and "helpers" in categories:
        return categories["helpers"]
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        found = categories.get(".".join(parts[:cut]))
        if found is not None:
            return found
    raise GenerationError(
        f"categories.toml: no category for {name}; it needs an entry for 'torch'."
    )


def _is_private(name: str) -> bool:
    """Whether libraries may use it all the same, as they do ``_Loss``; not ``_``, nor ``__all__`` and its like."""
    return name.startswith("_") and name != "_" and not name.endswith("__")


def _as_json(emitted: Emitted) -> dict[str, Any]:
    row = asdict(emitted)
    row["arms"] = [{"backends": list(arm.backends), "body": list(arm.body)} for arm in emitted.arms]
    row["modules"] = list(emitted.modules)
    return row
