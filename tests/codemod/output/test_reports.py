"""Reports for programs and for people."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tdev_core.codemod import records
from tdev_core.codemod.engine import Edit, Finding, Names, Options, rewrite
from tdev_core.codemod.model import Change, FileResult, Outcome, Place, Remark, Status
from tdev_core.codemod.output import about
from tdev_core.codemod.output.reports import FORMATS, line, render
from tdev_core.codemod.output.summary import Summary
from tdev_core.codemod.text import apply_edits
from tests.codemod.conftest import AFTER, BEFORE, Ran

Codemod = Callable[..., Ran]
CODEMOD = Path(about.__file__).parents[1]


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
    counts = {"changes": 0, "errors": 1, "warnings": 0, "notes": 0}
    assert data["rules"]["cupy"] == {"title": "cupy", **counts}
    by_path = {entry["path"]: entry for entry in data["results"]}
    assert sorted(by_path) == ["bad.py", "gen.py", "mein code/ä.py"]
    change = by_path["mein code/ä.py"]["changes"][1]
    assert change == {
        "rule": "calls",
        "name": "torch.cuda.synchronize",
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
    assert finding["severity"] == "error" and finding["name"] == "cupy"
    assert hint["severity"] == "note"
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
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["name"] and rule["help"]["text"]
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"]
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
    assert result["message"]["text"] == "cell 1:1:8: `cupy`: only CUDA has it"


def test_markdown_is_for_a_pull_request(mixed: Path, codemod: Codemod) -> None:
    ran = codemod("--diff", "--report", "markdown", "--output", "r.md", "--docs", ".")
    report = (mixed / "r.md").read_text(encoding="utf-8")
    assert ran.status == 2
    assert "| `cupy` | 0 | 1 | 0 | 0 | 1 |" in report
    assert "### `mein code/ä.py`" in report
    assert "- 4:8 **error** `cupy`: `cupy`: only CUDA has it" in report
    assert "- 3:1 `calls`: `torch.cuda.synchronize` → `tdev.cuda.synchronize`" in report
    assert "- `bad.py`: left alone: it is not Python 3" in report


def test_markdown_survives_what_sources_hold() -> None:
    place = Place(1, 1, 1, 1)
    outcome = Outcome(
        Status.CHANGED,
        changes=(Change("r", place, "a ``b`` c", "\n|x|"),),
        remarks=(Remark("r", place, "<b> *x* | y", "note"),),
    )
    summary = Summary(writes=False)
    result = FileResult("a`b.py", outcome)
    summary.add(result)
    report = render("markdown", [result], summary)
    assert "``` a ``b`` c ``` → `|x|`" in report
    assert "\\<b\\> \\*x\\* \\| y" in report
    assert "### `` a`b.py ``" in report


def test_a_line_names_path_place_rule_and_what_it_is_about() -> None:
    remark = Remark("cupy", Place(3, 4, 3, 4), "only CUDA has it", "error", "cupy.array")
    assert line("a.py", remark) == "a.py:3:4 cupy `cupy.array`: only CUDA has it"
    named = Remark("cupy", Place(3, 4, 3, 4), "cupy.array is CUDA's", "error", "cupy.array")
    assert line("a.py", named) == "a.py:3:4 cupy cupy.array is CUDA's"


@pytest.mark.parametrize(
    ("known", "address"),
    [
        ({}, ""),
        ({"documentation": "https://tdev.dev"}, "https://tdev.dev/docs/codemod/is-cuda.html"),
        ({"source": "https://h/r"}, "https://h/r/blob/main/docs/codemod/is-cuda.md"),
    ],
)
def test_a_page_has_an_address_where_the_project_has_one(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, str], address: str
) -> None:
    monkeypatch.setattr(about, "urls", lambda: known)
    assert about.link("is-cuda") == address and about.link("none") == ""


def test_json_says_where_a_rule_is_explained_where_there_is_an_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remark = Remark("is-cuda", Place(3, 4, 3, 4), "m", "warning")
    result = FileResult("a.py", Outcome(Status.UNCHANGED, remarks=(remark,)))
    summary = Summary(False)
    summary.add(result)
    for known, address in (
        ({}, None),
        ({"source": "https://h/r"}, "https://h/r/blob/main/docs/codemod/is-cuda.md"),
    ):
        monkeypatch.setattr(about, "urls", lambda known=known: known)
        data = json.loads(render("json", [result], summary))
        assert data["rules"]["is-cuda"]["title"] == about.title("is-cuda")
        assert data["rules"]["is-cuda"].get("docs") == address
        [finding] = data["results"][0]["findings"]
        assert "docs" not in finding


def test_every_rule_has_a_page_with_words() -> None:
    """Also the rules of what is around the engine: whatever a source file calls a rule."""
    source = "".join(p.read_text(encoding="utf-8") for p in CODEMOD.rglob("*.py"))
    made = set(re.findall(r"""(?:Rule|rule)\(\s*"([a-z-]+)",""", source))
    made |= set(re.findall(r"""Change\([^()"]*"([a-z-]+)"\)""", source))
    assert {"notebook-magic", "annotate", "is-cuda"} <= made == set(about.rules())
    for rule in made:
        assert about.title(rule) != rule and len(about.words(rule)) > 60
        assert "```" not in about.words(rule)


@pytest.mark.parametrize(
    ("source", "change", "message"),
    [
        (
            "s = torch.cuda.Stream()",
            (5, 10, "torch", "tdev"),
            "`torch.cuda.Stream` becomes `tdev.cuda.Stream`",
        ),
        ("import torch.cuda as tc", (8, 13, "torch", "tdev"), "`torch.cuda` becomes `tdev.cuda`"),
        ("p('torch.cuda.x', 1)", (4, 9, "torch", "tdev"), "`torch.cuda.x` becomes `tdev.cuda.x`"),
        ("x.y.cuda(0)", (5, 9, "cuda", "to"), "`x.y.cuda` becomes `x.y.to`"),
        ("a is b", (3, 5, "is", "=="), "`is` becomes `==`"),
    ],
)
def test_a_change_names_the_whole_name(
    source: str, change: tuple[int, int, str, str], message: str
) -> None:
    start, end, before, after = change
    made = records.change(Edit("r", 1, start, 1, end, before, after), [source])
    assert made.message == message


@pytest.mark.parametrize(
    ("source", "column", "name"),
    [
        ("import cupy as cp", 1, "cupy"),
        ("from a.b import c", 1, "a.b"),
        ("@triton.jit", 1, "triton.jit"),
        ("f('cuda:0', 1)", 3, "'cuda:0'"),
        ("if not x.is_cuda:", 4, "x.is_cuda"),
        ("load_inline(cuda_sources=1)", 1, "load_inline"),
        ("x = [1]", 5, ""),
        ("notes.cuda_stream", 1, "notes.cuda_stream"),
        ("if s[0].is_cuda and t[i][j].is_cuda:", 4, "s[0].is_cuda"),
        ("t[i][j].a.is_cuda", 1, "t[i][j].a.is_cuda"),
        ("f[0]", 1, "f"),
        ("def made(x):", 1, "made"),
        ("    async def made(x):", 5, "made"),
        ("class Made(Base):", 1, "Made"),
    ],
)
def test_a_finding_names_what_it_stands_at(source: str, column: int, name: str) -> None:
    assert records.remark(Finding("r", 1, column, "m", "note"), [source]).name == name


def test_a_finding_about_a_file_names_nothing_in_it() -> None:
    source = 'import os\n\nimport torch\n\nx = torch.zeros(3, device="cuda")\n'
    made = rewrite(source, Names.load(), Options(), filename="tests/test_cuda_kernels.py")
    (found,) = made.findings
    assert found.line == 1 and not records.remark(found, source.splitlines()).name


def test_a_name_is_left_out_where_the_message_has_it_as_a_word() -> None:
    place = Place(1, 1, 1, 1)
    assert Remark("r", place, "asks for CUDA", "note", "s").said == "`s`: asks for CUDA"
    assert Remark("r", place, "is_cuda of s.t", "note", "s").said == "is_cuda of s.t"


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
    remarks = tuple(Remark("b", place, "", s) for s in ("error", "note", "note"))
    changes = (Change("a", place, "x", "y"),) * 12
    summary.add(FileResult("1", Outcome(Status.CHANGED, changes=changes, remarks=remarks)))
    summary.add(FileResult("2", Outcome(Status.UNCHANGED)))
    assert summary.table().splitlines() == [
        "rule  rewritten  errors  warnings  notes  files",
        "-----------------------------------------------",
        "a            12       -         -      -      1",
        "b             -       1         -      2      1",
        "-----------------------------------------------",
        "all          12       1         -      2      1",
        "1 file rewritten, 1 file unchanged.",
    ]
