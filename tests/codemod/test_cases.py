"""Every case file: what goes in, what comes out, what is reported.

``cases/<style>/<rule>/<name>.in.py`` with ``.out.py`` has to change so; ``<name>.same.py`` must not
change at all. ``<name>.finds`` beside them lists the findings, one per line; a case without
one has none.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, Result, Style, may_concern, rewrite
from tdev_core.codemod.engine.registry import RULES
from tdev_core.codemod.engine.rules.demands import MET

CASES = Path(__file__).parent / "cases"
CHANGED = sorted(CASES.glob("*/*/*.in.py"))
INPUTS = sorted([*CASES.glob("*/*/*.in.py"), *CASES.glob("*/*/*.same.py")])


def _id(path: Path) -> str:
    return str(path.relative_to(CASES).with_suffix("").with_suffix(""))


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _run(path: Path, source: str) -> Result:
    style = path.parts[-3]
    assert style in STYLES
    chosen: Style = style
    rule = path.parent.name
    options = Options(style=chosen, annotate=rule == "annotate", test=rule == "test")
    return rewrite(source, Names.load(), options, filename=path.name)


def _expected(path: Path) -> str:
    name = path.name.removesuffix(".in.py")
    return _read(path.with_name(name + ".out.py")) if name != path.name else _read(path)


def _listed(path: Path) -> list[str]:
    base = path.name.removesuffix(".in.py").removesuffix(".same.py")
    listed = path.with_name(base + ".finds")
    return _read(listed).splitlines() if listed.exists() else []


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_result(path: Path) -> None:
    """What comes out, what is reported, and that the look at its bytes lets it through."""
    source = _read(path)
    result = _run(path, source)
    assert result.code == _expected(path)
    assert bool(result.edits) == path.name.endswith(".in.py")
    ast.parse(result.code)
    assert [
        f"{f.line}:{f.column} {f.severity} {f.rule} {f.message}" for f in result.findings
    ] == _listed(path)
    if result.edits or result.findings:
        assert may_concern(source.encode())


@pytest.mark.parametrize("path", CHANGED, ids=_id)
def test_second_run_changes_nothing(path: Path) -> None:
    """Of the cases that do not change, :func:`test_result` says so."""
    again = _expected(path)
    assert _run(path, again).code == again


@pytest.mark.parametrize("path", INPUTS, ids=_id)
def test_second_run_says_the_same(path: Path) -> None:
    """What was left is reported again, so that ``--check`` tells what the migration told.

    What the first run did (a demand that it met, an import that it points to a stand-in) is done.
    """
    if path.parts[-3] == "accelerator":
        return
    first = _run(path, _read(path))
    again = _run(path, first.code)
    met = {
        f
        for f in first.findings
        if f.rule == "stand-in" or (f.rule == "demand" and f.message.endswith(MET))
    }
    assert Counter((f.rule, f.severity, f.message) for f in again.findings) == Counter(
        (f.rule, f.severity, f.message) for f in first.findings if f not in met
    )


_ANSWERED = {name for name in Names.load().routed if name.startswith("torch.cuda.")}
_OPENS = re.compile(r"\btdev\.(?:cuda\.is_available\(\)|is_accelerator\()")


def _asked_of_torch(nodes: list[ast.AST]) -> list[str]:
    inside = [each for node in nodes for each in ast.walk(node) if isinstance(each, ast.Attribute)]
    return [name for name in map(ast.unparse, inside) if name in _ANSWERED]


@pytest.mark.parametrize("path", [p for p in CHANGED if p.parts[-3] == "explicit"], ids=_id)
def test_what_an_accelerator_opens_does_not_ask_torch_cuda(path: Path) -> None:
    """Half changed, it would raise on MPS, or divide by ``torch.cuda.device_count()``, which is 0 there."""
    for node in ast.walk(ast.parse(_expected(path))):
        if isinstance(node, (ast.If, ast.IfExp)) and _OPENS.match(ast.unparse(node.test)):
            arm = [node.body] if isinstance(node, ast.IfExp) else list[ast.AST](node.body)
            assert not _asked_of_torch(arm), ast.unparse(node)


@pytest.mark.parametrize("path", CHANGED, ids=_id)
def test_a_file_that_names_tdev_imports_it(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(_expected(path))))
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == "tdev"]
    named = bool(uses) and all(isinstance(node.ctx, ast.Load) for node in uses)
    imports = (node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    bound = {each.asname or each.name.partition(".")[0] for i in imports for each in i.names}
    assert not named or "tdev" in bound


def test_there_are_enough_cases() -> None:
    assert len(CHANGED) >= 150
    assert len(INPUTS) - len(CHANGED) >= 350  # what stays as it is matters as much
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
    """In a folder of its own, or in a list of findings, which :func:`test_result` compares."""
    shown = {path.parent.name for path in INPUTS}
    shown |= {finding.split()[2] for path in INPUTS for finding in _listed(path)}
    assert {rule.id for rule in RULES} <= shown
