"""Settings of the environment: what each word means, and what holds where there is none."""

from __future__ import annotations

import pytest

from tdev_core import settings
from tdev_core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("1", "true", "yes", "on", " ON ")),
        *((word, False) for word in ("0", "false", "no", "off", " Off")),
    ],
)
@pytest.mark.parametrize("name", settings.FLAGS)
def test_a_flag_is_a_word(
    name: str, text: str, value: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, text)
    assert settings.flag(name) is value


def test_a_flag_that_is_not_set_is_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (None, "", " "):
        for name in settings.FLAGS:
            monkeypatch.delenv(name, raising=False)
            if text is not None:
                monkeypatch.setenv(name, text)
        on = {name for name in settings.FLAGS if settings.flag(name)}
        assert on == {
            "TDEV_SHIMS",
            "TDEV_NATIVE",
            "TDEV_NATIVE_BUILD",
            "TDEV_C_CALLS",
            "TDEV_STANDINS",
        }
    settings.check()


@pytest.mark.parametrize("name", settings.FLAGS)
def test_another_word_is_refused_when_the_program_starts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "maybe")
    for look in (settings.check, lambda: settings.flag(name)):
        with pytest.raises(ConfigError, match=rf"{name}='maybe' is not understood"):
            look()


def test_what_there_is_no_more_is_refused_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDEV_CPU_MEMORY", "approximate")
    settings.check()
    monkeypatch.setenv("TDEV_CPU_MEMORY", " Exact ")
    with pytest.raises(
        ConfigError, match="TDEV_CPU_MEMORY=exact is no more.*Unset TDEV_CPU_MEMORY"
    ):
        settings.check()
