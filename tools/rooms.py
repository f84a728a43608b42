"""The parts of `nox -s other_torch`: names, drift, each room of the tests, operators; and the table of what came of them.

No room is listed: a folder of `tests` that has tests is one, so that a new one is run under every torch too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.sessions import counts

_SIM = {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": "2"}


@dataclass(frozen=True)
class Part:
    """One process of Python: its arguments, and its settings in the environment."""

    name: str
    arguments: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether pytest runs it, which reports how many tests there were."""
        return "pytest" in self.arguments


@dataclass(frozen=True)
class Result:
    """The end of a part: whether with status 0, after how many seconds, and pytest's report of it."""

    part: Part
    well: bool
    seconds: float
    report: Path


def parts(tests: Path, own: Mapping[str, str], pytest: Sequence[str]) -> list[Part]:
    """Name all parts, in the order in which they run.

    Args:
        tests: the folder of all tests.
        own: the devices whose tests have processes of their own, and the folder of each.
        pytest: the arguments that start pytest.
    """
    ignored = tuple(f"--ignore={folder}" for folder in own.values())
    rooms = [Part(room.stem, (*pytest, str(room), *ignored)) for room in _rooms(tests)]
    devices = [
        Part(device, (*pytest, folder), _SIM if device == "sim" else {})
        for device, folder in own.items()
    ]
    return [
        Part("names", ("tests/mirror/other_torch.py",)),
        Part("drift", ("-m", "generator", "--check")),
        *rooms,
        *devices,
        Part("opdb", ("tests/parity/opdb.py", "--every", "10", "--no-report")),
    ]


def _rooms(tests: Path) -> list[Path]:
    folders = [one for one in tests.iterdir() if any(one.rglob("test_*.py"))]
    return sorted((*folders, *tests.glob("test_*.py")))


def table(torch: str, results: Iterable[Result]) -> str:
    """Return a table in Markdown, one line for each part and one for all, and below it each test that failed.

    A part that ended badly is bad whatever its tests were, since a process that died has counted none.
    """
    lines = [f"| torch {torch} | | passed | failed | skipped | s |", "|---|---|--:|--:|--:|--:|"]
    failures: list[str] = []
    total = [0, 0, 0]
    seconds = 0.0
    bad = 0
    for one in results:
        *numbers, failed = counts(one.report)
        told = map(str, numbers) if one.part.counted else ("", "", "")
        lines.append(_line(one.part.name, one.well, *told, f"{one.seconds:.0f}"))
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        failures += failed
        seconds += one.seconds
        bad += not one.well
    lines.append(_line("all", not bad, *map(str, total), f"{seconds:.0f}"))
    return "\n".join((*lines, *failures))


def _line(name: str, well: bool, *numbers: str) -> str:
    return f"| {name} | {'done' if well else 'failed'} | {' | '.join(numbers)} |"
