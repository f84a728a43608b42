"""What is told of the host, from files and tables as systems have them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tdev_core.accelerators import host

Files = Callable[..., None]
MEMORY = "MemTotal:       1000 kB\nMemFree: 3 kB\nno colon\nNode: a: b\nMemAvailable:    400 kB\n"
CPU = "/sys/devices/system/cpu/cpu0/cache"


@pytest.fixture(autouse=True)
def unknown() -> Iterator[None]:
    """Nothing is known from before, or afterwards."""
    kept = (host.name, host.cache_bytes, host.identifier)
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """Have these files and no other, and these entries of macOS's table."""

    def have(there: dict[str, str] | None = None, table: dict[str, str] | None = None) -> None:
        monkeypatch.setattr(host, "_text", lambda path: (there or {}).get(path, ""))
        monkeypatch.setattr(host, "_sysctl", lambda key: (table or {}).get(key, ""))
        found = [Path(name).parent for name in there or {} if name.startswith(CPU)]
        listed = list(dict.fromkeys(found))
        monkeypatch.setattr(
            host,
            "Path",
            lambda place: SimpleNamespace(glob=lambda _: listed if place == CPU else []),
        )

    return have


def test_a_file_is_read_without_the_space_around_it(tmp_path: Path) -> None:
    (tmp_path / "there").write_text(" 12 \n")
    assert host._text(str(tmp_path / "there")) == "12"
    assert host._text(str(tmp_path / "not")) == ""


def test_macos_is_asked_on_macos_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], dict[str, Any]]] = []

    def run(command: list[str], **options: Any) -> SimpleNamespace:
        asked.append((command, options))
        return SimpleNamespace(stdout=" Apple M9\n")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "platform", "linux")
    assert host._sysctl("a.key") == "" and not asked
    monkeypatch.setattr(sys, "platform", "darwin")
    assert host._sysctl("a.key") == "Apple M9"
    ((command, options),) = asked
    assert command == ["/usr/sbin/sysctl", "-n", "a.key"]
    # A key that is not there is no error, and a table that hangs is given up.
    assert options == {"capture_output": True, "text": True, "timeout": 5, "check": False}

    def none(*_: Any, **__: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", none)
    assert host._sysctl("a.key") == ""


def test_the_processor_is_named_by_the_first_who_knows(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = "processor : 0\nmodel name :\nModel Name\t: Fast: 3 GHz \nmodel name : Other\n"
    files({"/proc/cpuinfo": listed}, {"machdep.cpu.brand_string": "Apple M9"})
    assert host.name() == "Fast: 3 GHz"
    for table, processor, machine, known in (
        ({"machdep.cpu.brand_string": "Apple M9"}, "p", "m", "Apple M9"),
        ({}, "p", "m", "p"),
        ({}, "", "m", "m"),
        ({}, "", "", "unknown processor"),
    ):
        files({}, table)
        monkeypatch.setattr(platform, "processor", lambda answer=processor: answer)
        monkeypatch.setattr(platform, "machine", lambda answer=machine: answer)
        host.name.cache_clear()
        assert host.name() == known


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda pid: {1, 5, 9} if pid == 0 else {pid}, raising=False
    )
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert host.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert host.cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert host.cores() == 1


def cache(number: int, level: str, size: str) -> dict[str, str]:
    return {f"{CPU}/index{number}/level": level, f"{CPU}/index{number}/size": size}


@pytest.mark.parametrize(
    ("there", "table", "bytes_"),
    [
        ({**cache(0, "1", "64K"), **cache(1, "2", "512K"), **cache(2, "3", "4M")}, {}, 512 << 10),
        (cache(0, "2", "2M"), {"hw.l2cachesize": "5"}, 2 << 20),
        (cache(0, "2", "2G"), {"hw.l2cachesize": "5"}, 5),
        (cache(0, "2", "5xK"), {"hw.l2cachesize": "5"}, 5),
        (cache(0, "2", ""), {"hw.perflevel0.l2cachesize": "6", "hw.l2cachesize": "5"}, 6),
        (cache(0, "1", "64K"), {}, 77),
    ],
)
def test_the_cache_is_that_of_level_2(
    there: dict[str, str],
    table: dict[str, str],
    bytes_: int,
    files: Files,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files(there, table)
    monkeypatch.setattr(os, "sysconf", {"SC_LEVEL2_CACHE_SIZE": 77}.__getitem__)
    assert host.cache_bytes() == bytes_


def test_a_cache_that_nobody_tells_of_has_no_bytes(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files()
    monkeypatch.setattr(os, "sysconf", lambda _: -1)
    assert host.cache_bytes() == 0

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    host.cache_bytes.cache_clear()
    assert host.cache_bytes() == 0


def test_the_clock_is_none_where_there_is_no_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    sensor = SimpleNamespace(cpu_freq=lambda: SimpleNamespace(current=2400))
    monkeypatch.setitem(sys.modules, "psutil", sensor)
    clock = host.clock_mhz()
    assert clock == 2400.0 and isinstance(clock, float)
    sensor.cpu_freq = lambda: None  # type: ignore[assignment,return-value]
    assert host.clock_mhz() is None
    sensor.cpu_freq = lambda: SimpleNamespace(current=0)
    assert host.clock_mhz() is None
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert host.clock_mhz() is None


def test_a_machine_has_one_identifier_which_is_not_its_own(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for there, table in (
        ({"/etc/machine-id": "a"}, {"kern.uuid": "b"}),
        ({}, {"kern.uuid": "b"}),
        ({}, {}),
    ):
        files(there, table)
        host.identifier.cache_clear()
        found.add(host.identifier())
    assert len(found) == 3 and all(isinstance(one, uuid.UUID) for one in found)
    # As it was in earlier versions: programs keep it.
    files({"/etc/machine-id": "a"})
    host.identifier.cache_clear()
    assert host.identifier() == uuid.UUID("2b9c0f5a-a5f2-feb6-7c7b-c1d82f9d89ef")
    # Where the system tells none, it is the machine's name that counts.
    files()
    names = set()
    for node in ("one", "two"):
        monkeypatch.setattr(platform, "node", lambda answer=node: answer)
        host.identifier.cache_clear(), host.name.cache_clear()
        names.add(host.identifier())
    assert len(names) == 2


def limits(limit: str, used: str, *, version: int = 2) -> dict[str, str]:
    names = ("memory.max", "memory.current")
    if version == 1:
        names = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")
    return dict(zip((f"/sys/fs/cgroup/{name}" for name in names), (limit, used), strict=True))


@pytest.mark.parametrize(
    ("more", "total", "available"),
    [
        ({}, 1000 << 10, 400 << 10),
        (limits("max", "5"), 1000 << 10, 400 << 10),
        (limits("500000", "200000"), 500000, 300000),
        (limits("500000", "600000"), 500000, 0),
        (limits("500000", "200000", version=1), 500000, 300000),
        (limits("9000000", "5"), 1000 << 10, 400 << 10),
        ({"/sys/fs/cgroup/memory.max": "500000"}, 500000, 400 << 10),
    ],
)
def test_memory_is_the_machines_or_the_containers(
    more: dict[str, str], total: int, available: int, files: Files
) -> None:
    files({"/proc/meminfo": MEMORY, **more})
    assert (host.memory_total(), host.memory_available()) == (total, available)


@pytest.mark.parametrize(
    "lines", ["", MEMORY.replace("MemAvailable", "x"), MEMORY.replace("MemTotal", "x")]
)
def test_memory_is_asked_of_psutil_then_of_posix(
    lines: str, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files({"/proc/meminfo": lines})
    told = SimpleNamespace(total=5000, available=3000)
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(virtual_memory=lambda: told))
    assert (host.memory_total(), host.memory_available()) == (5000, 3000)
    monkeypatch.setitem(sys.modules, "psutil", None)
    pages = {"SC_PAGE_SIZE": 10, "SC_PHYS_PAGES": 8, "SC_AVPHYS_PAGES": 3}

    def sysconf(name: str) -> int:
        if name not in pages:
            raise ValueError(name)
        return pages[name]

    monkeypatch.setattr(os, "sysconf", sysconf)
    assert (host.memory_total(), host.memory_available()) == (80, 30)
    del pages["SC_AVPHYS_PAGES"]
    assert (host.memory_total(), host.memory_available()) == (80, 80)
    del pages["SC_PHYS_PAGES"]
    assert (host.memory_total(), host.memory_available()) == (0, 0)
    # The container's limit is then all that is known.
    files({**limits("500", "100"), "/proc/meminfo": lines})
    assert (host.memory_total(), host.memory_available()) == (500, 0)
