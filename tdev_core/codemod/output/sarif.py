"""Writes SARIF 2.1.0, which code hosts show beside the lines.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Columns count code points, which the
log says (``columnKind``). Changes that a run would make carry the fix.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tdev_core.codemod.model import Change, FileResult, Place, Remark, Status
from tdev_core.codemod.output import about
from tdev_core.codemod.output.about import home, link, title, version, words
from tdev_core.codemod.output.summary import Summary

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(results: Sequence[FileResult], summary: Summary) -> str:
    """Return the log as JSON text."""
    rules: dict[str, dict[str, Any]] = {}
    found = []
    for result in results:
        if summary.writes and result.status is Status.CHANGED:
            items = result.items(changes=False)  # the changes are made; what is left is reported
        else:
            items = result.items()
        for item in items:
            rules.setdefault(item.rule, _rule(item.rule))
            found.append(_result(result.path, item, list(rules).index(item.rule)))
    run: dict[str, Any] = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "invocations": [_invocation(results, summary)],
        "results": found,
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _driver(rules: dict[str, dict[str, Any]]) -> dict[str, Any]:
    driver: dict[str, Any] = {
        "name": "tdev.codemod",
        "version": version(),
        "rules": list(rules.values()),
    }
    if home():
        driver["informationUri"] = home()
    return driver


def _rule(name: str) -> dict[str, Any]:
    """Return a rule with the words of its page; ``helpUri`` is there where the project has a site."""
    text, page, address = words(name), about.page(name), link(name)
    rule: dict[str, Any] = {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "shortDescription": {"text": title(name).replace("`", "")},
        "fullDescription": {"text": text or title(name)},
        "help": {"text": text or title(name), **({"markdown": page} if page else {})},
    }
    if address:
        rule["helpUri"] = address
    return rule


def _result(path: str, item: Change | Remark, index: int) -> dict[str, Any]:
    location = {
        "artifactLocation": _artifact(path),
        # Lines of a notebook are counted in its cells; in the file they are somewhere else.
        **({} if item.place.cell else {"region": _region(item.place)}),
    }
    said = item.said if isinstance(item, Remark) else item.message
    message = f"{item.place}: {said}" if item.place.cell else said
    result: dict[str, Any] = {
        "ruleId": item.rule,
        "ruleIndex": index,
        "level": item.severity if isinstance(item, Remark) else "warning",
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }
    if isinstance(item, Change) and not item.place.cell:
        result["fixes"] = [
            {
                "description": {"text": item.message},
                "artifactChanges": [
                    {
                        "artifactLocation": _artifact(path),
                        "replacements": [
                            {
                                "deletedRegion": _region(item.place),
                                "insertedContent": {"text": item.after},
                            }
                        ],
                    }
                ],
            }
        ]
    return result


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _artifact(path: str) -> dict[str, str]:
    """Return the file as an address: relative to the working directory where it lies below it."""
    relative = os.path.relpath(path)
    if relative.startswith(os.pardir + os.sep):
        return {"uri": Path(path).resolve().as_uri()}
    return {"uri": quote(Path(relative).as_posix()), "uriBaseId": "SRCROOT"}


def _invocation(results: Sequence[FileResult], summary: Summary) -> dict[str, Any]:
    told = [r for r in results if r.status in (Status.ERROR, Status.SKIPPED)]
    return {
        "executionSuccessful": not summary.files[Status.ERROR] and not summary.interrupted,
        "exitCode": summary.exit_status,
        "toolExecutionNotifications": [
            {
                "level": "error" if r.status is Status.ERROR else "note",
                "message": {"text": r.outcome.message},
                "locations": [{"physicalLocation": {"artifactLocation": _artifact(r.path)}}],
            }
            for r in told
        ],
    }
