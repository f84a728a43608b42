"""Hands on, in the environment, what a child has to know to rewrite as its parent does.

Only a child that ``multiprocessing`` starts reads it (:mod:`.spawned`); one that is started by
``subprocess`` is told by its command line (:mod:`.launching`).
"""

from __future__ import annotations

import json
import multiprocessing.spawn
import os
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from tdev_core import caches
from tdev_core.ecosystem import libraries
from tdev_core.packages.interpreter import choosing
from tdev_core.run import compile_hooks, launching, unittests
from tdev_core.run.cache import CodeCache
from tdev_core.run.compiling import Compiler
from tdev_core.run.importer import Finder, install
from tdev_core.run.roots import Roots, of_library

VARIABLE = "TDEV_RUN_STATE"
RECORDS = "TDEV_DIFF"
"""Set where the command ``diff`` wants to know what each operator gives."""
PLANS = "TDEV_PLAN"
STEPS = "TDEV_TUNING"
"""Set where the command ``tune`` asks for each step."""
_CHILD = "tdev_core.run.spawned"


@dataclass(frozen=True)
class State:
    """Directories and libraries to rewrite, and the main module: by path, by name, or none to be run again."""

    roots: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    cached: bool = True
    mirror: bool = False
    main_path: str | None = None
    main_name: str | None = None

    def compiler(self) -> Compiler:
        """Return a compiler for modules, with the cache unless that is off."""
        return Compiler(CodeCache(caches.directory("run") if self.cached else None))

    def places(self) -> Roots:
        """Return the places to rewrite; raises :class:`.roots.NoSuchLibrary`."""
        return Roots([*self.roots, *(p for name in self.libraries for p in of_library(name))])

    def runner(self) -> list[str]:
        """Return the words that have to stand before a script for another Python to run it as this one does."""
        module = ["tdev", "run"] if self.mirror else ["tdev_core.run"]
        roots = [word for root in self.roots for word in ("--root", root)]
        libraries = ["--library", ",".join(self.libraries)] if self.libraries else []
        return ["-m", *module, *roots, *libraries, *([] if self.cached else ["--no-cache"])]


def set_up(state: State) -> Compiler:
    """Rewrite what this process imports, compiles and starts; see to it that its children do.

    Raises:
        NoSuchLibrary: a library was named that cannot be rewritten.
    """
    compiler = state.compiler()
    roots = state.places()
    libraries.add_rewritten(roots.cover)
    install(Finder(roots, compiler))
    compile_hooks.install(roots, compiler)
    launching.install(roots, state.runner())
    unittests.watch()
    hand_on(state)
    choosing.begin(
        rewritten=True
    )  # once more: what runs rewritten has its kernels interpreted where no GPU has a driver
    choosing.simulate_numba()
    if RECORDS in os.environ:
        from tdev_core.measure import recording  # which imports torch

        recording.begin()
    if STEPS in os.environ:
        from tdev_core.measure.tuning import stepping  # the same

        stepping.begin()
    if PLANS in os.environ:
        from tdev_core.measure.planning import planner  # the same

        planner.begin()
    return compiler


def hand_on(state: State) -> None:
    """Make children that ``multiprocessing`` spawns set themselves up as this process is.

    A spawned child first imports its parent's main module, before anything else of the program. The
    name that the parent gives for it is replaced by :mod:`.spawned`, which does the set-up and then
    runs the real main module in its own place.
    """
    prepare = multiprocessing.spawn.get_preparation_data
    original = getattr(prepare, "tdev_original", prepare)

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = cast("dict[str, Any]", original(name))
        main_name = data.pop("init_main_from_name", None)
        main_path = data.pop("init_main_from_path", None)
        if main_name is not None and main_name.rpartition(".")[2] == "__main__":
            main_name = None  # multiprocessing does not run these again, as they have no guard
        child = replace(state, main_name=main_name, main_path=main_path)
        os.environ[VARIABLE] = json.dumps(asdict(child))
        data["init_main_from_name"] = _CHILD
        return data

    get_preparation_data.tdev_original = original  # type: ignore[attr-defined]
    multiprocessing.spawn.get_preparation_data = get_preparation_data


def take_back() -> None:
    """Undo :func:`hand_on`."""
    prepare = multiprocessing.spawn.get_preparation_data
    original = getattr(prepare, "tdev_original", None)
    if original is not None:
        multiprocessing.spawn.get_preparation_data = original
        os.environ.pop(VARIABLE, None)


def inherited() -> State:
    """Return the state that the parent handed on; raises ``RuntimeError`` where there is none."""
    text = os.environ.get(VARIABLE)
    if text is None:
        raise RuntimeError(f"{VARIABLE} is not set: this process was not started by tdev run")
    data = json.loads(text)
    several = {name: tuple(data[name]) for name in ("roots", "libraries")}
    return State(**{**data, **several})
