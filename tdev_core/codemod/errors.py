"""Defines the errors of the codemod's command line; every one is meant to be read by the user."""

from __future__ import annotations

from tdev_core.errors import ConfigError


class UsageError(ConfigError):
    """The command line or the configuration asks for something that cannot be done (exit status 2)."""


class Unreadable(Exception):
    """One file cannot be understood (encoding, syntax); the message says why. Other files go on."""
