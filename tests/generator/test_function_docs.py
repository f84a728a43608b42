"""``docs/functions`` is what the catalog says, and says it so that a reader can use it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from generator import function_docs


def test_pages_are_those_of_the_catalog(capsys: pytest.CaptureFixture[str]) -> None:
    status = function_docs.main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_a_stale_page_fails_with_the_mending_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function_docs, "TARGET", tmp_path / "functions")
    assert function_docs.main([]) == 0
    page = tmp_path / "functions" / "cuda-operations.md"
    page.write_text(page.read_text(encoding="utf-8").replace("emulated", "noop"), encoding="utf-8")
    capsys.readouterr()
    assert function_docs.main(["--check"]) == 1
    out = capsys.readouterr().out
    assert "+| `torch.cuda.BoolTensor` | emulated" in out
    assert "python -m generator.function_docs" in out


def test_every_link_leads_somewhere() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in function_docs.TARGET.iterdir()}
    links = {link for text in pages.values() for link in re.findall(r"\]\(([^)]+\.md)\)", text)}
    assert links == set(pages)
