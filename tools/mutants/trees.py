"""Copies of the working tree in which faults are planted, and the sample of faults."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants.c_operators import c_edits
from tools.mutants.operators import Edit, edits
from tools.mutants.rooms import ROOMS

__all__ = ["Mutant", "Tree", "in_file", "sample"]

SEED = 16
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))


@dataclass(frozen=True)
class Mutant:
    """One fault in one file of one room; ``place`` tells faults of a function apart that read the same."""

    room: str
    path: str
    edit: Edit
    place: int = 0

    @property
    def key(self) -> str:
        """Name the mutant, whatever else in its file moves: by function and change."""
        edit = self.edit
        told = [self.path, edit.function, edit.kind, edit.before, edit.after, str(self.place)]
        return hashlib.sha256("\0".join(told).encode()).hexdigest()[:12]


def sample(root: Path, most: int, rooms: list[str]) -> list[Mutant]:
    """Return the mutants to try: each room's quota with a fixed seed, or of each the same share of ``most``.

    A smaller sample is the beginning of a larger one.
    """
    whole = sum(room.drawn for room in ROOMS.values())
    chosen: list[Mutant] = []
    for name in rooms:
        room = ROOMS[name]
        found = [mutant for path in room.files(root) for mutant in in_file(name, path, root)]
        # By the mutants' names: a line that is changed or deleted leaves the others where they are.
        found.sort(key=lambda one: hashlib.sha256(f"{SEED}:{one.key}".encode()).digest())
        chosen += found[: max(1, round(room.drawn * min(1.0, most / whole)))]
    return chosen


def in_file(room: str, path: str, root: Path) -> Iterator[Mutant]:
    """Yield every fault that can be planted in one file."""
    seen: Counter[tuple[str, ...]] = Counter()
    for edit in _edits(root / path):
        read = (edit.function, edit.kind, edit.before, edit.after)
        yield Mutant(room, path, edit, seen[read])
        seen[read] += 1


def _edits(path: Path) -> Iterator[Edit]:
    if path.suffix == ".c":
        return c_edits(path.read_bytes())
    return edits(path.read_text(encoding="utf-8"), routes="generated" in path.parts)


class Tree:
    """A copy of the working tree, of what git knows or would add, with the compiled module."""

    def __init__(self, root: Path, place: Path) -> None:
        """Copy ``root`` to ``place``, replacing what is there."""
        self.root = place
        shutil.rmtree(place, ignore_errors=True)
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=root, capture_output=True, check=True).stdout.split(
            b"\0"
        )
        names += [
            str(path.relative_to(root)).encode() for path in root.glob("tdev_core/shims/*.so")
        ]
        for name in filter(None, names):
            source, target = root / os.fsdecode(name), place / os.fsdecode(name)
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        shutil.copy2(Path(__file__).with_name("recording.py"), place / "sitecustomize.py")
        self._planted = 0

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Have the fault in the tree meanwhile.

        Raises:
            SyntaxError: it is none that Python takes.
            subprocess.CalledProcessError: the C compiler does not.
        """
        path = self.root / mutant.path
        files = [path]
        if mutant.path.startswith("generated/"):
            files.append(self.root / "catalog.json")
        elif path.suffix == ".c":
            files.append(path.with_name("_calls" + SUFFIX))
        kept = [(file, file.read_bytes(), file.stat()) for file in files]
        changed = mutant.edit.applied(path.read_bytes())
        if path.suffix == ".py":
            ast.parse(changed)
        try:
            path.write_bytes(changed)
            # Python knows compiled files by the second and the size: no two mutants have the same.
            self._planted += 1
            stamp = kept[0][2].st_mtime_ns - self._planted * 10**9
            os.utime(path, ns=(stamp, stamp))
            if path.suffix == ".c":
                _compile(path)
            elif mutant.path.startswith("generated/"):
                _into_catalog(files[1], mutant)
            yield
        finally:
            for file, data, before in kept:
                file.unlink(missing_ok=True)  # a library that is loaded keeps its file
                file.write_bytes(data)
                os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _compile(source: Path) -> None:
    """Compile the C module beside its source, without optimisation, which takes a second."""
    library = source.with_name("_calls" + SUFFIX)
    library.unlink(missing_ok=True)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    include = sysconfig.get_path("include")
    command = ["cc", "-shared", "-fPIC", "-O0", "-w", f"-I{include}", f"-DTDEV_SOURCE={digest}"]
    command += [str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def _into_catalog(path: Path, mutant: Mutant) -> None:
    """Plant the fault in the catalog too, where the emitted arm comes from: as a wrong route would be in both.

    Tests that take what they expect from the arm itself then find nothing.
    """
    module = "torch" + mutant.path[len("generated/tdev") : -len(".py")].replace("/", ".")
    module = module.removesuffix(".__init__")
    catalog: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    before, after = _normal(mutant.edit.before), _normal(mutant.edit.after)
    changed = False
    row = catalog["definitions"].get(f"{module}:{mutant.edit.function.split('.')[0]}", {})
    for form in (row, *row.get("before", {}).values()):
        for arm in form.get("arms", ()):
            body = [_normal(line) for line in arm["body"]]
            hit = [number for number, line in enumerate(body) if before and before in line]
            for number in hit[:1]:
                arm["body"][number] = body[number].replace(before, after, 1)
                changed = True
    if changed:
        path.write_text(json.dumps(catalog), encoding="utf-8")


def _normal(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text.strip()))
    except SyntaxError:
        return text.strip()
