"""Reports for programs and for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tdev_core.codemod.engine import Edit
from tdev_core.codemod.model import Change, FileResult, Outcome, Place, Remark, Status
from tdev_core.codemod.output import about
from tdev_core.codemod.output.reports import FORMATS, line, render
from tdev_core.codemod.output.summary import Summary
from tdev_core.codemod.text import apply_edits
from tests.codemod.conftest import AFTER, BEFORE, Ran

Codemod = Callable[..., Ran]


@pytest.fixture
def mixed(place: Path) -> Path:
    (place / "mein code").mkdir()
    (place / "mein code/ä.py").write_bytes(BEFORE + b"import cupy  # hint\n")
    (place / "bad.py").write_bytes(b"print 'torch'\n")
    (place / "gen.py").write_bytes(b"# @generated torch\n")
    (place / "fine.py").write_bytes(b"x = 1\n")
    return place


def test_json_tells_everything(mixed: Path, codemod: Codemod) -> None:
    ran = codemod("--check", "--report", "json", ".")
    data = json.loads(ran.out)
    assert ran.status == data["exit_status"] == 2
    assert data["files"] == {"unchanged": 1, "changed": 1, "skipped": 1, "error": 1}
    assert data["rules"]["cupy"] == {"changes": 0, "errors": 1, "warnings": 0, "notes": 0}
    by_path = {entry["path"]: entry for entry in data["results"]}
    assert sorted(by_path) == ["bad.py", "gen.py", "mein code/ä.py"]
    change = by_path["mein code/ä.py"]["changes"][1]
    assert change == {
        "rule": "calls",
        "cell": None,
        "before": {
            "line": 3,
            "column": 1,
            "end_line": 3,
            "end_column": 23,
            "text": "torch.cuda.synchronize",
        },
        "after": {
            "line": 4,
            "column": 1,
            "end_line": 4,
            "end_column": 22,
            "text": "tdev.cuda.synchronize",
        },
    }
    assert by_path["mein code/ä.py"]["lines"] == "before"
    [finding, hint] = by_path["mein code/ä.py"]["findings"]
    assert finding["severity"] == "error" and finding["docs"].endswith("cupy.md#why")
    assert hint["severity"] == "note" and hint["docs"] == ""
    assert "not Python 3" in by_path["bad.py"]["message"]


def test_json_names_both_numberings_and_they_are_right(mixed: Path, codemod: Codemod) -> None:
    dry = json.loads(codemod("--check", "--report", "json", "mein code").out)
    old = (mixed / "mein code/ä.py").read_bytes().decode().split("\n")
    done = json.loads(codemod("--report", "json", "mein code").out)
    new = (mixed / "mein code/ä.py").read_bytes().decode().split("\n")
    [before], [after] = dry["results"], done["results"]
    assert (before.pop("lines"), after.pop("lines")) == ("before", "after")
    assert before == after
    for change in after["changes"]:
        for side, rows in (("before", old), ("after", new)):
            at, text = change[side], change[side]["text"]
            inside = "\n".join(rows[at["line"] - 1 : at["end_line"]])
            end = len(inside) - len(rows[at["end_line"] - 1]) + at["end_column"] - 1
            assert inside[at["column"] - 1 : end] == text
    for finding in after["findings"]:
        assert old[finding["before"]["line"] - 1] == new[finding["after"]["line"] - 1]


def test_the_report_takes_standard_output_for_itself(mixed: Path, codemod: Codemod) -> None:
    for name in FORMATS:
        ran = codemod("--check", "--report", name, "--quiet", "mein code")
        assert "only CUDA has it" in ran.out and ran.err == ""
        to_file = codemod("--check", "--report", name, "--output", "report", "mein code")
        assert (mixed / "report").read_text(encoding="utf-8") == ran.out
        assert to_file.out.count("\n") == 4  # findings and changes, as without a report


def sarif(ran: Ran) -> dict[str, Any]:
    log = json.loads(ran.out)
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    run: dict[str, Any] = log["runs"][0]
    return run


def test_sarif_places_results_and_carries_the_fixes(mixed: Path, codemod: Codemod) -> None:
    run = sarif(codemod("--check", "--report", "sarif", "."))
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert sorted(rules) == ["calls", "cupy", "hint", "imports"]
    source, edits = BEFORE.decode(), []
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        location = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert unquote(location["uri"]) == "mein code/ä.py" and " " not in location["uri"]
        assert location["uriBaseId"] == "SRCROOT"
        for fix in result.get("fixes", []):
            [replacement] = fix["artifactChanges"][0]["replacements"]
            region = replacement["deletedRegion"]
            line, column = region["startLine"], region["startColumn"]
            end_line, end_column = region["endLine"], region["endColumn"]
            before = "" if column == end_column else "torch.cuda.synchronize"
            after = replacement["insertedContent"]["text"]
            edits.append(Edit("", line, column, end_line, end_column, before, after))
    assert apply_edits(source, edits).encode() == AFTER
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels == {"calls": "warning", "imports": "warning", "cupy": "error", "hint": "note"}
    [invocation] = run["invocations"]
    assert invocation["exitCode"] == 2 and invocation["executionSuccessful"] is False
    told = {n["level"]: n["message"]["text"] for n in invocation["toolExecutionNotifications"]}
    assert "not Python 3" in told["error"] and "generated" in told["note"]


def test_sarif_after_a_rewrite_holds_what_is_left(mixed: Path, codemod: Codemod) -> None:
    run = sarif(codemod("--report", "sarif", "mein code"))
    assert {result["ruleId"] for result in run["results"]} == {"cupy", "hint"}
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


def test_a_notebook_in_sarif_is_told_by_its_cell(place: Path, codemod: Codemod) -> None:
    cell = {"cell_type": "code", "source": ["import cupy, torch"], "outputs": [], "metadata": {}}
    book = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell]}
    (place / "n.ipynb").write_text(json.dumps(book))
    ran = codemod("--check", "--report", "sarif", "n.ipynb")
    [result] = sarif(ran)["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert result["message"]["text"] == "cell 1:1:8: only CUDA has it"


def test_markdown_is_for_a_pull_request(mixed: Path, codemod: Codemod) -> None:
    ran = codemod("--diff", "--report", "markdown", "--output", "r.md", "--docs", ".")
    report = (mixed / "r.md").read_text(encoding="utf-8")
    assert ran.status == 2
    assert "| `cupy` | 0 | 1 | 0 | 0 |" in report
    assert "### `mein code/ä.py`" in report
    assert "- 4:8 **error** [`cupy`](docs/codemod/cupy.md#why): only CUDA has it" in report
    assert "- 3:1 `calls`: `torch.cuda.synchronize` → `tdev.cuda.synchronize`" in report
    assert "- `bad.py`: left alone: it is not Python 3" in report


def test_markdown_survives_what_sources_hold() -> None:
    place = Place(1, 1, 1, 1)
    outcome = Outcome(
        Status.CHANGED,
        changes=(Change("r", place, "a ``b`` c", "\n|x|"),),
        remarks=(Remark("r", place, "<b> *x* | y", "note", ""),),
    )
    summary = Summary(writes=False)
    result = FileResult("a`b.py", outcome)
    summary.add(result)
    report = render("markdown", [result], summary)
    assert "``` a ``b`` c ``` → `|x|`" in report
    assert "\\<b\\> \\*x\\* \\| y" in report
    assert "### `` a`b.py ``" in report


def test_a_line_names_path_place_rule_message_and_page(monkeypatch: pytest.MonkeyPatch) -> None:
    remark = Remark("cupy", Place(3, 4, 3, 4), "only CUDA has it", "error", "cupy.md#why")
    assert line("a.py", remark) == "a.py:3:4 cupy only CUDA has it (docs/codemod/cupy.md#why)"
    monkeypatch.setattr(about, "home", lambda: "https://example.org/tdev")
    assert line("a.py", remark).endswith("(https://example.org/tdev/docs/codemod/cupy.md#why)")


def test_an_unwritable_report_is_an_error(mixed: Path, codemod: Codemod) -> None:
    ran = codemod("--check", "--report", "json", "--output", ".", "fine.py")
    assert ran.status == 2 and "--output ." in ran.err and "Traceback" not in ran.err


def test_a_console_that_does_not_know_every_character(place: Path) -> None:
    (place / "größe.py").write_bytes(BEFORE)
    program = (
        "import sys\nfrom tdev_core.codemod.cli import main\n"
        "sys.exit(main(['--check', '.'], engine='tests.codemod.small_engine'))\n"
    )
    root = str(Path(__file__).resolve().parents[3])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith(b"gr\\xf6\\xdfe.py:1:13 imports")


@pytest.mark.skipif(sys.platform == "win32", reason="file names are text there")
def test_file_names_that_are_no_text(place: Path, codemod: Codemod) -> None:
    (place / "odd\udcff.py").write_bytes(BEFORE)
    for arguments in (["--check"], ["--check", "--report", "json"], ["--diff"], []):
        ran = codemod(*arguments, ".")
        assert ran.status == (1 if arguments else 0) and "Traceback" not in ran.err


def test_the_table_adds_up() -> None:
    summary = Summary(writes=True)
    place = Place(1, 1, 1, 1)
    remarks = tuple(Remark("b", place, "", s, "") for s in ("error", "note", "note"))
    changes = (Change("a", place, "x", "y"),) * 12
    summary.add(FileResult("1", Outcome(Status.CHANGED, changes=changes, remarks=remarks)))
    summary.add(FileResult("2", Outcome(Status.UNCHANGED)))
    assert summary.table().splitlines() == [
        "rule  rewritten  errors  warnings  notes",
        "----------------------------------------",
        "a            12       -         -      -",
        "b             -       1         -      2",
        "----------------------------------------",
        "all          12       1         -      2",
        "1 file rewritten, 1 file unchanged.",
    ]
