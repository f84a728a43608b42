"""``docs/functions`` and ``docs/codemod`` are what catalog and rules say, so that a reader can use it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.pages import codemod, functions
from tools.pages.__main__ import main


def test_pages_are_those_of_the_catalog_and_of_the_rules(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_a_stale_page_fails_with_the_mending_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "TARGET", tmp_path / "functions")
    monkeypatch.setattr(codemod, "TARGET", tmp_path / "codemod")
    assert main([]) == 0
    page = tmp_path / "functions" / "cuda-operations.md"
    page.write_text(page.read_text(encoding="utf-8").replace("emulated", "noop"), encoding="utf-8")
    capsys.readouterr()
    assert main(["--check"]) == 1
    out = capsys.readouterr().out
    assert "+| `torch.cuda.BoolTensor` | emulated" in out
    assert "functions/ is stale; run: python -m tools.pages" in out
    assert "codemod/ is stale" not in out


def test_every_link_leads_somewhere() -> None:
    for folder in (functions.TARGET, codemod.TARGET):
        pages = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        links = {link for text in pages.values() for link in re.findall(r"\]\(([^)]+\.md)\)", text)}
        assert links | {"index.md"} == set(pages)
