"""Sets the variables of the environment that winners stand for, before torch is imported, which reads them then."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["SETTING", "VARIABLES", "set_early", "variables"]

SETTING = "TDEV_TUNE"
"""The variable that names a file of winners."""

VARIABLES: dict[str, dict[str, dict[str, str]]] = {
    "mps_fast_math": {"on": {"PYTORCH_MPS_FAST_MATH": "1"}},
    "mps_prefer_metal": {"on": {"PYTORCH_MPS_PREFER_METAL": "1"}},
    "mps_no_watermark": {"on": {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0"}},
}
"""By setting and value."""


def variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables that settings stand for."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        found |= VARIABLES.get(name, {}).get(str(value), {})
    return found


def set_early() -> None:
    """Set what the file of :data:`SETTING` says, unless the user has set it.

    What is wrong with the file, or whose it is, is told once torch is there, before anything is computed.
    """
    path = os.environ.get("TDEV_TUNE", "")
    if not path:
        return
    # Only here: every start of a program passes by, and few have winners.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, "rb") as file:
            body = tomllib.load(file)
        for table in body["winners"]:
            for name, value in variables(table["settings"]).items():
                os.environ.setdefault(name, value)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return
