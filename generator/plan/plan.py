"""Join facts and routes into the catalog."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.catalog import SCHEMA
from generator.errors import Decision, GenerationError, Undecided
from generator.facts import composites
from generator.facts.model import Facts, Member
from generator.facts.pin import PINNED
from generator.plan.cells import Columns, columns_of_routed, columns_of_same, columns_of_translated
from generator.plan.compat import Compat, mlx_operators
from generator.plan.core import Core
from generator.plan.devices import curated_devices, device_parameters, undecided
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
from generator.plan.reach import Reach
from generator.plan.routes import Capability, Routes
from generator.plan.rows import category, definition_row, member_row, module_row
from generator.plan.shims import plan_shims

_CALLABLE = frozenset({"function", "builtin"})

# Modules of ``tdev_core`` that templates import, whatever the routes say.
_IN_TEMPLATES = (
    "adoption",
    "applying",
    "planner",
    "backend",
    "calls",
    "checkers",
    "cli",
    "codemod.cli",
    "devices",
    "diffing",
    "errors",
    "install",
    "installing",
    "launch",
    "monitoring",
    "pytest_plugin",
    "release",
    "report",
)


def plan(facts: Facts, routes: Routes, evidence: Evidence, core: Path) -> dict[str, Any]:
    """Decide how every member of torch is answered; of one torch, which has all that the routes name.

    Args:
        facts: what was introspected.
        routes: what was curated.
        evidence: what tests have executed.
        core: the folder of ``tdev_core``, whose modules the routes' expressions may use.

    Returns:
        The catalog, made of JSON types only.

    Raises:
        Undecided: routes name something torch does not have, functions that need a route have none, or a
            route cannot be emitted; all of it.
    """
    planner = _Planner(facts, routes, evidence, Core(core))
    return _decided(planner.catalog(), planner.open)


def plan_one(facts: Facts, routes: Routes, evidence: Evidence, core: Path) -> dict[str, Any]:
    """Return the catalog of one torch, as :func:`plan` does, also where only others have what the routes name."""
    planner = _Planner(facts, routes, evidence, Core(core), alone=False)
    catalog = planner.catalog()
    return _decided(catalog, [decision for decision in planner.open if not decision.absent])


def plan_each(
    torches: Iterable[Facts], routes: Routes, evidence: Evidence, core: Path
) -> dict[str, dict[str, Any]]:
    """Return the catalog of each torch, by its release; the first is the pinned one.

    Raises:
        Undecided: as :func:`plan`; what the routes name and some torch lacks, one of them has to have.
    """
    catalogs: dict[str, dict[str, Any]] = {}
    open_: dict[str, Decision] = {}
    absent: list[dict[str, Decision]] = []
    modules = Core(core)
    answers: _Answers = {}
    for facts in torches:
        planner = _Planner(facts, routes, evidence, modules, not catalogs, answers)
        catalogs[facts.torch] = planner.catalog()
        absent.append({one.absent: one for one in planner.open if one.absent})
        for decision in planner.open:
            if not decision.absent:
                open_.setdefault(decision.text, decision)
    nowhere = [one for key, one in absent[0].items() if all(key in other for other in absent)]
    _decided({}, [*open_.values(), *nowhere])
    return catalogs


def _decided(catalog: dict[str, Any], decisions: Iterable[Decision]) -> dict[str, Any]:
    found = list(decisions)
    if found:
        raise Undecided(found)
    return catalog


# What is emitted for a function, by all that it is made of: most is the same for every torch.
_Answers = dict[tuple[Any, ...], Emitted]


class _Planner:
    def __init__(
        self,
        facts: Facts,
        routes: Routes,
        evidence: Evidence,
        core: Core,
        alone: bool = True,
        answers: _Answers | None = None,
    ) -> None:
        self.facts = facts
        self.alone = alone
        self.routes = routes
        self.evidence = evidence.under(facts.torch)
        self.core = core
        self.answers: _Answers = {} if answers is None else answers
        self.compat = Compat(facts.operators, mlx_operators(self.core), composites.read(PINNED))
        self.modules = {module.name: module for module in facts.modules if module.error is None}
        self.members = {member.name: member for member in facts.members}
        self.by_export = {path: member for member in facts.members for path in member.exports}
        self.capability_of: dict[str, tuple[Capability, str]] = {}
        self.emitted: dict[str, Emitted] = {}
        self.columns: dict[str, Columns] = {}
        self.devices: dict[str, tuple[str, ...]] = {}
        self.loaded = loaded(facts.private, routes.private)
        self.visible = {name: frozenset(module.visible) for name, module in self.modules.items()}
        self.reach = Reach(self.modules, self.visible)
        self.open: list[Decision] = []
        self.lacking: dict[tuple[str, str], list[str]] = defaultdict(list)

    def catalog(self) -> dict[str, Any]:
        self._resolve_spellings()
        self._check_scope()
        if self.alone:  # the list says of the pinned torch what it has dropped
            self.open += check_planned(self.routes.planned, self.by_export, self.facts.torch)
        self._decide_members()
        self._note_lacking()
        shims: list[dict[str, Any]] = []
        private: dict[str, dict[str, Any]] = {}
        with self._deciding():
            shims, open_ = plan_shims(self.facts, self.routes, self.by_export, self.core)
            self.open += open_
        with self._deciding():
            listed = self.routes.private
            private, open_ = catalogued(self.facts.private, listed, self.facts.torch)
            self.open += open_
        if any(not decision.absent for decision in self.open):
            return {}  # rows would be missing
        return {
            "schema": SCHEMA,
            "torch": self.facts.torch,
            "core": {name: self.core.find(name, "templates/") for name in _IN_TEMPLATES},
            "stand_ins": self.core.stand_ins(),
            "modules": {
                name: module_row(module, self.loaded.get(name, set()))
                for name, module in sorted(self.modules.items())
            },
            "private": private,
            "untyped": sorted(
                {module.name for module in self.facts.private} - self.routes.private.keys()
            ),
            "mirrors": self._mirrors(),
            "shims": shims,
            "members": {name: self._member(name) for name in sorted(self.members)},
            "planned": {row.dotted: self._planned(row) for row in self.routes.planned},
            "skipped": [list(pair) for pair in self.facts.skipped],
            "differences": list(self.facts.differences),
        }

    @contextmanager
    def _deciding(self, member: str = "") -> Iterator[None]:
        """Keep what has to be decided about ``member``, and go on: a person wants to hear of all of it at once."""
        try:
            yield
        except Undecided as error:
            self.open += error.decisions
        except GenerationError as error:
            self.open.append(Decision(str(error), member))

    # -- decisions ---------------------------------------------------------------------------------

    def _resolve_spellings(self) -> None:
        for capability in self.routes.capabilities:
            for spelling in capability.spellings:
                member = self.by_export.get(spelling) or self._private(spelling)
                if member is None:
                    text = (
                        f"{capability.where}: torch {self.facts.torch} has no {spelling!r}. Correct "
                        "the spelling, or delete it if torch dropped the name."
                    )
                    self.open.append(Decision(text, spelling, absent=spelling))
                    continue
                other = self.capability_of.get(member.name)
                if other is not None:
                    self._open(
                        spelling,
                        f"{capability.where}: {spelling!r} is {member.name}, which "
                        f"{other[0].where} already answers as {other[1]!r}; list one of the names.",
                    )
                    continue
                self.capability_of[member.name] = (capability, spelling)

    def _open(self, member: str, text: str) -> None:
        self.open.append(Decision(text, member))

    def _private(self, spelling: str) -> Member | None:
        """Return a name with a leading underscore that large programs use; the facts hold public ones only."""
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
        """Refuse a function of the modules in scope without a route: a new one in torch announces itself."""
        for member in self.facts.members:
            if member.helper or member.kind not in (*_CALLABLE, "class"):
                continue
            if member.name in self.capability_of or member.name in self.routes.devices:
                continue
            path = next((one for one in member.exports if in_scope(one, self.routes.scope)), None)
            if path is not None:
                text = (
                    f"{path}: in a package of scope.toml, and no route. Add it as a spelling of a capability in "
                    "generator/routes/."
                )
                self.open.append(Decision(text, member.name, lacks_route=True))

    def _decide_members(self) -> None:
        for name, member in self.members.items():
            if name in self.capability_of:
                capability, spelling = self.capability_of[name]
                self.columns[name] = columns_of_routed(capability, spelling, name, self.evidence)
                if all(cell.route == "same" for cell in capability.cells.values()):
                    continue
                with self._deciding(name):
                    self.emitted[name] = self._emit_capability(capability, spelling, member)
                    for parameter in self.emitted[name].lacking:
                        self.lacking[capability.where, parameter].append(name)
                continue
            curated = curated_devices(member, self.routes)
            devices, open_ = device_parameters(member, curated)
            self.open += [undecided(name, parameter) for parameter in open_]
            lacking = curated.lacking if curated else {}
            if devices:
                self.devices[name] = devices
                with self._deciding(name):
                    self.emitted[name] = emit_translated(
                        self._home_name(member),
                        member,
                        devices,
                        self.core,
                        self.reach.expression(member),
                        shares=curated is not None and curated.shares,
                    )
                self.columns[name] = columns_of_translated(member, lacking, self.evidence)
            else:
                self.columns[name] = columns_of_same(member, self.compat, lacking, self.evidence)
        for dotted, route in self.routes.devices.items():
            if dotted not in self.by_export and dotted not in self.modules:
                text = (
                    f"{route.where}: torch {self.facts.torch} has no {dotted!r}. Delete the entry if "
                    "torch dropped the name."
                )
                self.open.append(Decision(text, dotted, absent=f"{route.where} {dotted}"))

    def _note_lacking(self) -> None:
        """Note the parameters that the call of a capability hands on and no function that it answers for has."""
        answers = Counter(capability.where for capability, _ in self.capability_of.values())
        for (where, parameter), names in self.lacking.items():
            if len(names) == answers[where]:
                text = (
                    f"{where}: {', '.join(names)} has no parameter {parameter!r} in torch {self.facts.torch}, and the "
                    "call hands it on. Correct the call."
                )
                self.open.append(Decision(text, names[0], absent=f"{where} {parameter}"))

    def _emit_capability(self, capability: Capability, spelling: str, member: Member) -> Emitted:
        dotted = self._home_name(member)
        original = self.reach.expression(member)
        asked = (
            *(capability.where, spelling, dotted, original),
            *(member.kind, member.signatures, member.summary),
        )
        if asked not in self.answers:
            renamed = Capability(
                capability.id,
                capability.where,
                {dotted: capability.spellings[spelling]},
                capability.cells,
            )
            routed = member.kind in _CALLABLE and not _binds(capability)
            emit = emit_routed if routed else emit_bound
            self.answers[asked] = emit(renamed, dotted, member, self.core, original)
        return self.answers[asked]

    def _home_name(self, member: Member) -> str:
        """Return the path at which the mirror defines ``member``; every other export hands it on."""
        return member.name

    # -- what is emitted ---------------------------------------------------------------------------

    def _mirrors(self) -> dict[str, Any]:
        """Return the modules that need a module of their own: those that export a routed member, and their
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
                    elsewhere[attribute] = f"tdev{owner[len('torch') :]}:{original}"
        here.sort(key=lambda emitted: emitted.name)
        backend = own_backend(module + ".")
        return {
            "package": self.modules[module].is_package or module == "torch",
            "summary": self.modules[module].summary,
            "home": backend.upper() if backend else None,
            "asked": asked(backend),
            "seen": self.reach.seen(module),
            "modules": sorted({name for emitted in here for name in emitted.modules}),
            "kinds": sorted({emitted.kind for emitted in here}),
            "definitions": [definition_row(emitted) for emitted in here],
            "elsewhere": dict(sorted(elsewhere.items())),
        }

    def _planned(self, row: Planned) -> dict[str, Any]:
        """Return a function of the migration plan: the member that answers for it, if any does."""
        member = self.by_export.get(row.successor or row.dotted)
        return {
            "category": row.category,
            "member": member.name if member is not None else None,
            "gone": row.gone,
            "successor": row.successor,
        }

    def _member(self, name: str) -> dict[str, Any]:
        member = self.members[name]
        mirror = self.emitted[name].kind if name in self.emitted else "same"
        found = category(member, self.routes.categories)
        row = member_row(member, found, mirror, self.devices.get(name, ()))
        return row | self.columns[name]


def _binds(capability: Capability) -> bool:
    return any(cell.object is not None for cell in capability.cells.values())


def in_scope(dotted: str, packages: Iterable[str]) -> bool:
    """Tell whether a name stands in one of the packages, at any depth, in a module that is public."""
    module = dotted.rpartition(".")[0]
    inside = any(module == package or module.startswith(package + ".") for package in packages)
    return inside and not any(part.startswith("_") for part in module.split("."))
