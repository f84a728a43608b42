"""Warnings once per call site, and errors that say what to do."""

from __future__ import annotations

import warnings

import pytest

from tdev_core.backend import unsupported
from tdev_core.errors import (
    ConfigError,
    FallbackWarning,
    UnsupportedError,
    exit_with,
    warn_once,
)


def test_a_call_site_warns_once() -> None:
    def library() -> None:
        warn_once("slow", FallbackWarning)

    with pytest.warns(FallbackWarning) as caught:
        for _ in range(3):
            library()
        library()
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}


def test_a_key_warns_once_wherever_it_is_called_from() -> None:
    key = object()
    with pytest.warns(FallbackWarning) as caught:
        warn_once("slow", FallbackWarning, key=key)
        warn_once("slow", FallbackWarning, key=key)
    assert len(caught) == 1


def test_a_warning_turned_into_an_error_is_due_again() -> None:
    key = object()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(FallbackWarning):
                warn_once("slow", FallbackWarning, key=key)


def test_unsupported_names_function_backend_reason_and_way_out() -> None:
    with pytest.raises(UnsupportedError) as caught:
        unsupported("torch.cuda.temperature", "no sensor", "read psutil")
    message = str(caught.value)
    for part in ("torch.cuda.temperature", "backend", "no sensor", "Instead: read psutil."):
        assert part in message
    assert isinstance(caught.value, NotImplementedError)


def test_exit_with_prints_one_paragraph(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        exit_with(ConfigError("wrong"))
    assert caught.value.code == 2
    assert capsys.readouterr().err == "tdev: wrong\n"


def test_exit_with_raises_at_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    with pytest.raises(ConfigError):
        exit_with(ConfigError("wrong"))
