"""Settings of the environment that are on or off."""

from __future__ import annotations

import os

from tdev_core.errors import ConfigError

__all__ = ["FLAGS", "WORDS", "check", "flag", "word"]

FLAGS = {
    "TDEV_SHIMS": True,
    "TDEV_CPU_ALIAS": False,
    "TDEV_REPORT": False,
    "TDEV_STRICT": False,
    "TDEV_SIM_STRICT": False,
    "TDEV_NATIVE": True,
    "TDEV_NATIVE_BUILD": True,
    "TDEV_C_CALLS": True,
    "TDEV_STANDINS": True,
}
"""Each flag with what holds where it is unset or empty."""

WORDS = {"TDEV_REPORT": ("html", "json")}
"""What else a flag may be set to, where it is on: how, or what."""

_GONE = {
    "TDEV_CPU_MEMORY=exact": (
        "memory on the cpu backend is always the C heap's, which is approximate. TDEV_BACKEND=sim counts tensors to the byte"
    ),
}
"""Values of settings that there were, each with what holds now."""

_ON = frozenset(("1", "true", "yes", "on"))
_OFF = frozenset(("0", "false", "no", "off"))


def flag(name: str) -> bool:
    """Tell whether the flag is on.

    Raises:
        ConfigError: it is neither on nor off.
    """
    text = os.environ.get(name, "").strip().lower()
    if not text:
        return FLAGS[name]
    words = WORDS.get(name, ())
    if text not in _ON | _OFF and text not in words:
        known = ", ".join(("1", *words))
        raise ConfigError(
            f"{name}={text!r} is not understood. Set it to {known} or 0, or unset it."
        )
    return text not in _OFF


def word(name: str) -> str:
    """Return the one of :data:`WORDS` that a flag is set to, or an empty text."""
    text = os.environ.get(name, "").strip().lower()
    return text if text in WORDS.get(name, ()) else ""


def check() -> None:
    """Read every flag once, so that a slip is told when the program starts and not halfway.

    Raises:
        ConfigError: one of them is neither on nor off, or one asks for what there is no more.
    """
    for name in FLAGS:
        flag(name)
    for asked, now in _GONE.items():
        name, _, value = asked.partition("=")
        if os.environ.get(name, "").strip().lower() == value:
            raise ConfigError(f"{asked} is no more: {now}. Unset {name}.")
