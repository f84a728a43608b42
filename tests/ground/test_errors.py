"""Warnings once per call site, and errors that say what to do."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from tdev_core import errors
from tdev_core.backend import unsupported
from tdev_core.errors import (
    ConfigError,
    FallbackWarning,
    UnsupportedError,
    exit_with,
    warn,
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


@pytest.mark.parametrize("module", ["torch.nn.modules.linear", "tdev_core.cuda.amp", "tdev.cuda"])
def test_what_stands_between_is_no_call_site(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many frames of torch's or ours lie between a program's line and its warning."""
    monkeypatch.setattr(errors, "_warned", set())
    between = {"__name__": module, "warn_once": warn_once, "warn": warn, "kind": FallbackWarning}
    source = "def {0}(n):\n    {0}(n - 1) if n else {1}\n"
    for name, warns in ("once", "warn_once('slow', kind)"), ("each", "warn('slow', kind)"):
        exec(compile(source.format(name, warns), "/site-packages/torch/nn.py", "exec"), between)
    once: Callable[[int], None] = between["once"]  # type: ignore[assignment]  # made by exec
    each: Callable[[int], None] = between["each"]  # type: ignore[assignment]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            once(3)
            each(3)
        once(0)
    assert {warning.filename for warning in caught} == {__file__}
    assert len(caught) == 2 + 2


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
