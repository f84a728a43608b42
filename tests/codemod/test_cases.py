"""Every case file: what goes in, what comes out, what is reported.

``cases/<style>/<rule>/<name>.in.py`` with ``.out.py`` has to change so; ``<name>.same.py`` must not
change at all. ``<name>.finds`` beside them lists the findings, one per line; a case without
one has none.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, Result, Style, may_concern, rewrite
from tdev_core.codemod.engine.registry import RULES

CASES = Path(__file__).parent / "cases"
INPUTS = sorted([*CASES.glob("*/*/*.in.py"), *CASES.glob("*/*/*.same.py")])


def _id(path: Path) -> str:
    return str(path.relative_to(CASES).with_suffix("").with_suffix(""))


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _run(path: Path, source: str) -> Result:
    style = path.parts[-3]
    assert style in STYLES
    chosen: Style = style
    options = Options(style=chosen, annotate=path.parent.name == "annotate")
    return rewrite(source, Names.load(), options, filename=path.name)


def _expected(path: Path) -> str:
    name = path.name.removesuffix(".in.py")
    return _read(path.with_name(name + ".out.py")) if name != path.name else _read(path)


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_result(path: Path) -> None:
    source = _read(path)
    result = _run(path, source)
    assert result.code == _expected(path)
    assert bool(result.edits) == path.name.endswith(".in.py")
    ast.parse(result.code)


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_findings(path: Path) -> None:
    base = path.name.removesuffix(".in.py").removesuffix(".same.py")
    listed = path.with_name(base + ".finds")
    expected = _read(listed).splitlines() if listed.exists() else []
    result = _run(path, _read(path))
    assert [
        f"{f.line}:{f.column} {f.severity} {f.rule} {f.message}" for f in result.findings
    ] == expected


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_second_run_changes_nothing(path: Path) -> None:
    again = _expected(path)
    assert _run(path, again).code == again


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_prefilter_lets_through_what_matters(path: Path) -> None:
    source = _read(path)
    result = _run(path, source)
    if result.edits or result.findings:
        assert may_concern(source.encode())


def test_there_are_enough_cases() -> None:
    changed = [p for p in INPUTS if p.name.endswith(".in.py")]
    same = [p for p in INPUTS if p.name.endswith(".same.py")]
    assert len(changed) >= 150
    assert len(same) >= len(changed)
    assert {p.parts[-3] for p in INPUTS} == set(STYLES)


def test_no_stray_files() -> None:
    wanted = set(INPUTS)
    for path in INPUTS:
        base = path.name.removesuffix(".in.py").removesuffix(".same.py")
        wanted.add(path.with_name(base + ".finds"))
        if path.name.endswith(".in.py"):
            wanted.add(path.with_name(base + ".out.py"))
    assert {p for p in CASES.rglob("*") if p.is_file()} <= wanted


def test_every_rule_has_a_case() -> None:
    shown = {p.parent.name for p in INPUTS}
    for path in INPUTS:
        result = _run(path, _read(path))
        shown |= {e.rule for e in result.edits} | {f.rule for f in result.findings}
    assert {rule.id for rule in RULES} <= shown
