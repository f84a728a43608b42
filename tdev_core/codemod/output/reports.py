"""Reports what a run found, to people and to programs: text, JSON and Markdown (SARIF: :mod:`.sarif`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tdev_core.codemod.model import (
    SEVERITIES,
    Change,
    FileResult,
    Place,
    Remark,
    Status,
    moved,
    new_place,
)
from tdev_core.codemod.output.about import link, title, version
from tdev_core.codemod.output.folded import LISTED, Folded
from tdev_core.codemod.output.sarif import render as sarif
from tdev_core.codemod.output.summary import Summary

FORMATS = ("json", "sarif", "markdown")
JSON_VERSION = 3
_COUNTS = tuple(f"{severity}s" for severity in SEVERITIES)


def line(path: str, item: Change | Remark) -> str:
    """``path:line:col rule message``; ``--explain`` takes the rule."""
    said = item.said if isinstance(item, Remark) else item.message
    return f"{path}:{item.place} {item.rule} {said}"


def render(
    format: str, results: Sequence[FileResult], summary: Summary, *, verbose: bool = False
) -> str:
    """Return the report in one of :data:`FORMATS`, ending in a newline."""
    if format == "json":
        return _json(results, summary)
    if format == "markdown":
        return _markdown(results, summary, verbose)
    return sarif(results, summary)


def _json(results: Sequence[FileResult], summary: Summary) -> str:
    told = [result for result in results if _tells(result)]
    data = {
        "version": JSON_VERSION,
        "tool": {"name": "tdev.codemod", "version": version()},
        "wrote": summary.writes,
        "exit_status": summary.exit_status,
        "files": {status.value: summary.files[status] for status in Status},
        "rules": {
            rule: {
                "title": title(rule),
                # Where it is said at length, if the project has an address; `--explain` says it anywhere.
                **({"docs": address} if (address := link(rule)) else {}),
                "changes": summary.changes[rule],
                **dict(zip(_COUNTS, summary.remarked(rule), strict=True)),
            }
            for rule in sorted({*summary.changes, *summary.remarks})
        },
        "other": {"files": summary.other_files, "places": summary.other_places},
        "results": [_json_file(result) for result in told],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _json_file(result: FileResult) -> dict[str, Any]:
    changes = result.outcome.changes
    return {
        "path": result.path,
        "status": result.status.value,
        "other": result.other,
        "message": result.outcome.message,
        # Which of the two numberings of its lines the file has now.
        "lines": "after" if result.written else "before",
        "changes": [
            {
                "rule": c.rule,
                "name": c.name or c.before,
                "cell": c.place.cell,
                "before": {**_json_place(c.place), "text": c.before},
                "after": {**_json_place(new_place(c, changes)), "text": c.after},
            }
            for c in changes
        ],
        "findings": [
            {
                "rule": r.rule,
                "name": r.name,
                "cell": r.place.cell,
                "before": _json_place(r.place),
                "after": _json_place(moved(r.place, changes)),
                "severity": r.severity,
                "message": r.message,
            }
            for r in result.outcome.remarks
        ],
    }


def _json_place(place: Place) -> dict[str, int]:
    return {
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def _markdown(results: Sequence[FileResult], summary: Summary, verbose: bool) -> str:
    verb = "rewritten" if summary.writes else "to rewrite"
    out = ["# tdev codemod", "", summary.sentence(), ""]
    rules = sorted({*summary.changes, *summary.remarks})
    if rules:
        out += [
            f"| rule | {verb} | errors | warnings | notes | files |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for rule in rules:
            counts = [summary.changes[rule], *summary.remarked(rule), summary.found_in[rule]]
            out.append(f"| `{rule}` | {' | '.join(map(str, counts))} |")
        out.append("")
    problems = [r for r in results if r.status is Status.ERROR]
    if problems:
        out += ["## Files that could not be handled", ""]
        shown = problems if verbose else problems[:LISTED]
        out += [f"- {_code(r.path)}: {_escape(r.outcome.message)}" for r in shown]
        out += (
            [f"- and {len(problems) - LISTED:,} more"] if len(shown) < len(problems) else []
        ) + [""]
    folded = Folded()
    for result in results:
        for item in result.items(changes=result.status is Status.CHANGED):
            folded.add(result.path, item, other=result.other)
    if folded.count > LISTED and not verbose:
        return "\n".join([*out, *folded.markdown(summary.writes)]).rstrip("\n") + "\n"
    told = [r for r in results if r.outcome.remarks]
    if told:
        out += ["## For a person to look at", ""]
        for result in told:
            out += [f"### {_code(result.path)}", ""]
            for item in result.items(changes=False):
                assert isinstance(item, Remark)
                address = link(item.rule)
                rule = f"[`{item.rule}`]({address})" if address else f"`{item.rule}`"
                out.append(f"- {item.place} **{item.severity}** {rule}: {_escape(item.said)}")
            out.append("")
    changed = [r for r in results if r.outcome.changes and r.status is Status.CHANGED]
    if changed:
        out += [f"## {verb[0].upper()}{verb[1:]}", ""]
        for result in changed:
            out += [f"### {_code(result.path)}", ""]
            for change in result.outcome.changes:
                what = f"{_code(change.before)} → {_code(change.after)}"
                out.append(f"- {change.place} `{change.rule}`: {what}")
            out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def _tells(result: FileResult) -> bool:
    outcome = result.outcome
    return result.status is not Status.UNCHANGED or bool(outcome.changes or outcome.remarks)


def _code(text: str) -> str:
    """``text`` as inline code on one line, whatever backticks it holds."""
    flat = " ".join(text.split())
    if not flat:
        return "nothing"
    fence = "`"
    while fence in flat:
        fence += "`"
    pad = " " if len(fence) > 1 else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _escape(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\*_<>[]|" else c for c in flat)
