"""Compatibility of plain operators: which kernel answers on each backend, and where none does.

CPU, CUDA and MPS are read from the table that ships in the torch wheel, MLX from the operator table of
its accelerator. An implicit composite is followed to the operator that does its work where torch's
naming tells it: ``special_x`` is ``x``, ``x`` calls ``_x`` or ``x_ex``; and else to those that its samples
were seen to run (``generator.facts.composites``). Where neither tells, the note says that its parts decide.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from generator.errors import GenerationError
from generator.facts.model import Member, Operator
from generator.facts.operators import EXPLICIT, IMPLICIT, NON_FUNCTIONAL
from generator.plan.core import Core
from generator.running.caches import folder
from generator.running.memo import Memo, digest

__all__ = ["Compat", "mlx_operators"]

_KEYS: Mapping[str, str] = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS"}
_COMPOSITES = (NON_FUNCTIONAL, EXPLICIT, IMPLICIT)
_READ = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
json.dump(importlib.import_module(sys.argv[2]).operators(), sys.stdout)
"""


def mlx_operators(core: Core) -> dict[str, tuple[str, str, str]]:
    """aten overload to (route, MLX functions, note), as the table of the accelerator ``mlx`` lists them.

    Read in a process of its own: the generator does not import the library it generates for.

    Raises:
        GenerationError: the table does not load.
    """
    if "mlx.table" not in core:
        return {}
    table = core.find("mlx.table", "the operators of MLX")
    sources = sorted(core.path(table).parent.rglob("*.py"))
    memo = Memo(folder() / "mlx_operators.json")
    key = digest(*(text for path in sources for text in (path.name, path.read_text("utf-8"))))
    text = memo.get(key, partial(_read, core.folder.parent, table))
    memo.save()
    return {name: (row[0], row[1], row[2]) for name, row in sorted(json.loads(text).items())}


def _read(root: Path, table: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(root), table], capture_output=True, text=True
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise GenerationError(
            f"the operator table {table} does not load: {last}. See for yourself: "
            f"python -c 'import {table} as t; t.operators()'"
        )
    return done.stdout


class Compat:
    """Answers, per backend, how the operators behind a public function are answered there."""

    def __init__(
        self,
        operators: Iterable[Operator],
        mlx: Mapping[str, tuple[str, str, str]],
        composites: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._composites = composites or {}
        self._by_name: dict[str, list[Operator]] = {}
        out: dict[str, list[Operator]] = {}
        for item in operators:
            # The build adds `out=` forms that copy: they say nothing about the operator itself.
            group = out if item.overload.endswith("out") else self._by_name
            group.setdefault(item.name, []).append(item)
        for name, only in out.items():
            self._by_name.setdefault(name, only)
        self._dispatched: dict[str, frozenset[str]] = {}
        self._mlx: dict[str, str] = {}
        self._whole = set[str]()
        for overload, (route, functions, _) in mlx.items():
            name = overload.partition(".")[0]
            self._mlx.setdefault(name, functions)
            if route == "whole":
                self._whole.add(name)

    def cells(self, member: Member) -> dict[str, tuple[str, str]]:
        """Route and note by backend; empty where torch's table does not tell which operators run."""
        names = [
            name
            for name in member.operators
            if name not in self._by_name or member.kind == "builtin" or self._is_dense(name)
        ]
        if not names or not all(name in self._by_name for name in names):
            return {}
        alone = len(names) == 1
        parts = self._parts(member, names)
        cells = {}
        for backend in (*_KEYS, "mlx") if self._mlx else _KEYS:
            answers = [self._answer(name, backend, alone) for name in names]
            whole = backend == "mlx" and self._whole.issuperset(names)
            cells[backend] = (None if whole else self._of_parts(parts, backend)) or _worst(answers)
        return cells

    def _answer(self, name: str, backend: str, alone: bool) -> tuple[str, str]:
        return self._on_mlx(name, alone) if backend == "mlx" else self._kernel(name, backend, alone)

    def _parts(self, member: Member, names: list[str]) -> tuple[str, ...]:
        """Return what ``member`` was seen to run, where its own operators tell nothing and these have kernels."""
        if not all(self._dispatch(self._part(name)) == {IMPLICIT} for name in names):
            return ()
        seen = next(
            (self._composites[path] for path in member.exports if path in self._composites), ()
        )
        parts = tuple(part for part in seen if part in self._by_name)
        return () if any(self._dispatch(part) == {IMPLICIT} for part in parts) else parts

    def _of_parts(self, parts: tuple[str, ...], backend: str) -> tuple[str, str] | None:
        """Return the answer of a composite by its parts; None where these may be others on this backend."""
        elsewhere = {_KEYS["cuda"], *_COMPOSITES}
        if backend != "cpu" and not all(self._dispatch(part) & elsewhere for part in parts):
            return None  # a kernel for the CPU alone: another device has its own
        if not parts:
            return None
        answers = {part: self._answer(part, backend, True) for part in parts}
        worst = max((route for route, _ in answers.values()), key=_ORDER.index)
        slow = [part for part, (route, _) in answers.items() if route == worst]
        if worst == "same":
            return worst, f"dispatch key {IMPLICIT}: its parts have kernels: {_some(parts)}"
        _, note = answers[slow[0]]
        return worst, f"dispatch key {IMPLICIT}; {_some(slow)}: {note}"

    def _kernel(self, name: str, backend: str, alone: bool) -> tuple[str, str]:
        """Route and note of one operator on one of the backends that torch's table knows."""
        key, part = _KEYS[backend], self._part(name)
        keys = self._dispatch(part)
        through = "" if alone and part == name else f" of {part}"
        if key in keys:
            return "same", f"dispatch key {key}{through}"
        for composite in _COMPOSITES:
            if composite in keys:
                rest = ": as its parts are answered" if composite == IMPLICIT else ""
                return "same", f"dispatch key {composite}{through}{rest}"
        special = sorted(item for item in keys if item.endswith(key))
        if special:
            return "same", f"dispatch key {special[0]}{through}, no dense kernel"
        if backend == "mps" and "CPU" in keys:
            return "fallback", f"no kernel for MPS{through}: dispatch key CPU, and back"
        known = ", ".join(sorted(keys)) or "none"
        return "unsupported", f"torch has no kernel for {key}{through}, only for {known}"

    def _on_mlx(self, name: str, alone: bool) -> tuple[str, str]:
        part = self._part(name)
        through = "" if alone and part == name else f" of {part}"
        for candidate in (name, part):
            functions = self._mlx.get(candidate) or self._mlx.get(_functional(candidate))
            if functions is not None:
                key = "AutogradPrivateUse1" if candidate in self._whole else "PrivateUse1"
                return "same", f"dispatch key {key}: {functions or 'a kernel of tdev'}"
        keys = self._dispatch(part)
        for composite in _COMPOSITES:
            if composite in keys:
                return "same", f"dispatch key {composite}{through}: as its parts are answered"
        if self._kernel(name, "cpu", alone)[0] == "unsupported":
            return "unsupported", "torch has no kernel for CPU to fall back on"
        return "fallback", f"no kernel for MLX{through}: dispatch key CPU, and back"

    def _is_dense(self, name: str) -> bool:
        """Tell whether ``name`` works on dense tensors somewhere; a Python function calls others in a branch."""
        return bool(self._dispatch(name) & {*_KEYS.values(), *_COMPOSITES})

    def _dispatch(self, name: str) -> frozenset[str]:
        """Return every dispatch key under which some overload of ``name`` has a kernel, XPU's apart.

        No row speaks of XPU, and facts of torches that are not installed leave its kernels out.
        """
        known = self._dispatched.get(name)
        if known is None:
            keys = (key for item in self._by_name[name] for key in item.dispatch)
            known = self._dispatched[name] = frozenset(key for key in keys if "XPU" not in key)
        return known

    def _part(self, name: str) -> str:
        """Return the operator that does the work of ``name``; itself where it has kernels, or nothing tells."""
        seen = {name}
        while all(item.composite == "implicit" for item in self._by_name[name]):
            plain = name.removeprefix("special_")
            candidates = (plain, f"_{plain}", f"{plain}_ex")
            following = [item for item in candidates if item in self._by_name and item not in seen]
            if not following:
                break
            name = following[0]
            seen.add(name)
        return name


def _functional(name: str) -> str:
    """Return the functional form of an in-place operator."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _some(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    listed = list(names)
    more = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {more} more" if more > 0 else "")


_NAMED = 4
_ORDER = ("same", "fallback", "unsupported")


def _worst(answers: list[tuple[str, str]]) -> tuple[str, str]:
    """Return a function is answered as well as the worst of its operators."""
    return max(answers, key=lambda answer: _ORDER.index(answer[0]))
