"""The environment variables of ``sim``: what is accepted and how what is not is refused."""

from __future__ import annotations

import os

import pytest

from tdev_core.accelerators.sim import config, memory
from tdev_core.accelerators.sim.sizes import parse_size
from tdev_core.errors import ConfigError


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set around the tests (devices, in a run of the sim suite) is none of theirs."""
    for name in [name for name in os.environ if name.startswith("TDEV_SIM_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("512", 512),
        ("2T", 2 << 40),
        ("8GiB", 8 << 30),
        ("8 gib", 8 << 30),
        ("8G", 8 << 30),
        ("200M", 200 << 20),
        ("1.5GB", 1_500_000_000),
        ("3kb", 3000),
        ("100B", 100),
        ("0.5KiB", 512),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "big", "-1", "0", "8 GiB extra", "GiB", "1e9", "8iB", "nan", "1..5G"]
)
def test_sizes_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


def test_defaults() -> None:
    settings = config.read()
    assert settings.devices == 1
    assert settings.memory > 1 << 28
    assert settings.rng == "linked"


@pytest.mark.parametrize(("told", "each"), [(16 << 30, 2 << 30), (0, 1 << 26)])
def test_all_devices_together_leave_the_host_half_of_its_memory(
    monkeypatch: pytest.MonkeyPatch, told: int, each: int
) -> None:
    """A program that looks for the largest batch fills a device: it, not the system, has to say no."""
    monkeypatch.setenv("TDEV_SIM_DEVICES", "4")
    monkeypatch.setattr(config.host, "memory_total", lambda: told)
    assert config.read().memory == each


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDEV_SIM_DEVICES", " 4 ")
    monkeypatch.setenv("TDEV_SIM_MEMORY", "64MiB")
    monkeypatch.setenv("TDEV_SIM_RNG", "OWN")
    assert config.read() == config.SimConfig(
        devices=4, memory=64 << 20, rng="own", backing=64 << 20
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TDEV_SIM_DEVICES", "0"),
        ("TDEV_SIM_DEVICES", "-1"),
        ("TDEV_SIM_DEVICES", "two"),
        ("TDEV_SIM_DEVICES", "1.5"),
        ("TDEV_SIM_DEVICES", "65"),
        ("TDEV_SIM_DEVICES", "²"),
        ("TDEV_SIM_MEMORY", "lots"),
        ("TDEV_SIM_MEMORY", "0"),
        ("TDEV_SIM_RNG", "cpu"),
    ],
)
def test_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        config.read()
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 bytes"),
        (1024, "1024 bytes"),
        (1025, "1.00 KiB"),
        ((1 << 20) - 1, "1024.00 KiB"),
        (1 << 20, "1024.00 KiB"),
        ((1 << 20) + 1, "1.00 MiB"),
        (5 << 19, "2.50 MiB"),
        (1 << 30, "1024.00 MiB"),
        (3 << 30, "3.00 GiB"),
        (1 << 45, "32768.00 GiB"),
    ],
)
def test_sizes_are_worded_as_torchs_allocator_words_them(size: int, words: str) -> None:
    assert memory._human(size) == words
