"""Writes findings as annotations of a GitHub workflow, which are shown beside the lines of a pull request.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

import os

from tdev_core.codemod.model import Change, Remark

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def annotation(path: str, item: Change | Remark) -> str:
    """Return the workflow command for one finding or change; columns and lines as in the file now."""
    level = _LEVELS[item.severity] if isinstance(item, Remark) else "warning"
    place, message = item.place, item.said if isinstance(item, Remark) else item.message
    file = os.path.relpath(path).replace(os.sep, "/")
    properties = {"file": file}
    if place.cell is None:
        properties |= {"line": str(place.line), "endLine": str(place.end_line)}
        if place.line == place.end_line:
            properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    else:  # its lines are counted in its cell
        message = f"{place}: {message}"
    properties["title"] = f"tdev {item.rule}"
    said = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{level} {said}::{_escape(message)}"


def _escape(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:  # the percent sign first
        text = text.replace(character, f"%{ord(character):02X}")
    return text
