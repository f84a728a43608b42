"""Rooms: the sources that are mutated, the number of mutants drawn of each, and the tests that have to find them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

__all__ = ["ROOMS", "Room", "Stage"]


@dataclass(frozen=True)
class Stage:
    """Tests that run in one process.

    Attributes:
        tests: files and folders.
        settings: what the environment of that process has beside the common one.
    """

    tests: tuple[str, ...]
    settings: dict[str, str] = field(default_factory=dict, hash=False)

    def of(self, files: list[str]) -> Stage | None:
        """Return the stage with those of ``files`` only that are its own, the whole where there are none to choose."""
        mine = tuple(
            one for one in files if any(PurePath(one).is_relative_to(t) for t in self.tests)
        )
        return self if not files else replace(self, tests=mine) if mine else None


@dataclass(frozen=True)
class Room:
    """Sources and the tests that answer for them.

    Attributes:
        sources: files, folders and patterns below the root of the repository.
        drawn: how many mutants belong to the sample.
        stages: their tests, in the order in which they are run.
        without: sources of a folder that another room has.
    """

    sources: tuple[str, ...]
    drawn: int
    stages: tuple[Stage, ...]
    without: tuple[str, ...] = ()

    def files(self, root: Path) -> Iterator[str]:
        """Yield the paths of the sources below ``root``, sorted."""
        found: set[str] = set()
        for source in self.sources:
            place = root / source
            several = place.rglob("*.py") if place.is_dir() else root.glob(source)
            found |= {path.relative_to(root).as_posix() for path in several}
        yield from sorted(path for path in found if not path.startswith(self.without or ("\0",)))


_SIM = {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": "2"}
# Without torch's operator database: minutes of operators that the backend treats alike.
_SUITE = tuple(
    f"tests/accelerators/sim/suite/test_{name}.py"
    for name in (
        *("compile", "dtypes", "faults", "generic_api", "in_place", "memory", "nested", "parallel"),
        *("properties", "random", "safetensors", "serialization", "several_devices", "sparse"),
        *("streams", "strict", "tensors", "training", "waits"),
    )
)

ROOMS: dict[str, Room] = {
    "devices": Room(
        ("tdev_core/devices.py", "tdev_core/backend.py", "tdev_core/settings.py"),
        50,
        (
            Stage(
                (
                    *(
                        f"tests/ground/test_{name}.py"
                        for name in ("backend", "devices", "errors", "settings")
                    ),
                    "tests/shims/test_devices_and_factories.py",
                )
            ),
            Stage(
                (
                    "tests/ground/test_devices.py",
                    *(
                        f"tests/accelerators/sim/suite/test_{name}.py"
                        for name in ("tensors", "properties", "streams")
                    ),
                ),
                _SIM,
            ),
        ),
    ),
    "shims": Room(
        ("tdev_core/shims",),
        100,
        # On the CPU much of a shim has nothing to do.
        (Stage(("tests/shims",)), Stage(_SUITE, _SIM)),
    ),
    "mirror": Room(
        ("tdev_core/mirror", "tdev_core/metrics/counters.py"),
        80,
        (Stage(("tests/mirror", "tests/commands", "tests/shims/test_devices_and_factories.py")),),
    ),
    "streams": Room(
        tuple(
            f"tdev_core/accelerators/{name}.py"
            for name in ("streams", "events", "queues", "capturing", "instances")
        ),
        70,
        (
            Stage(("tests/accelerators/test_events.py", "tests/accelerators/test_streams.py")),
            Stage(("tests/accelerators/sim/suite/test_streams.py",), _SIM),
        ),
    ),
    "memory": Room(
        ("tdev_core/cuda/memory", "tdev_core/accelerators/host.py"),
        70,
        (
            Stage(("tests/cuda", "tests/accelerators/test_host.py")),
            Stage(("tests/accelerators/sim/suite/test_memory.py",), _SIM),
        ),
    ),
    "distributed": Room(("tdev_core/distributed",), 60, (Stage(("tests/distributed",)),)),
    "sim": Room(
        ("tdev_core/accelerators/sim",),
        90,
        (
            Stage(_SUITE, _SIM),
            Stage(
                tuple(
                    f"tests/accelerators/sim/test_{name}.py"
                    for name in ("config", "processes", "profiles")
                )
            ),
        ),
    ),
    "run": Room(("tdev_core/run",), 70, (Stage(("tests/run",)),)),
    "engine": Room(("tdev_core/codemod/engine",), 100, (Stage(("tests/codemod",)),)),
    "emitted": Room(
        ("generated/tdev",),
        80,
        (Stage(("tests/mirror", "tests/cuda", "tests/accelerators/test_streams.py")),),
        without=("generated/tdev/_modules.py",),
    ),
    "calls.c": Room(
        ("tdev_core/shims/_calls.c",),
        50,
        (
            Stage(("tests/shims/test_c_calls.py", "tests/shims/test_c_module.py")),
            Stage(("tests/shims",)),
        ),
    ),
}
