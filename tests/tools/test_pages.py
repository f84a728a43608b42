"""``docs/codemod``, ``docs/errors`` and ``docs/packages`` are what rules, codes and packages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.pages import codemod, errors
from tools.pages.__main__ import main


def test_pages_are_those_of_rules_codes_and_packages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_a_stale_page_fails_with_the_mending_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "TARGET", tmp_path / "errors")
    monkeypatch.setattr(codemod, "TARGET", tmp_path / "codemod")
    assert main([]) == 0
    page = tmp_path / "errors" / "TDEV301.md"
    page.write_text(page.read_text(encoding="utf-8").replace("# ", "# No "), encoding="utf-8")
    capsys.readouterr()
    assert main(["--check"]) == 1
    out = capsys.readouterr().out
    assert "-# No TDEV301" in out and "+# TDEV301" in out
    assert "errors/ is stale; run: python -m tools.pages" in out
    assert "codemod/ is stale" not in out


def test_every_link_leads_somewhere() -> None:
    for folder in (errors.TARGET, codemod.TARGET):
        pages = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        links = {link for text in pages.values() for link in re.findall(r"\]\(([^)]+\.md)\)", text)}
        inside = {link for link in links if not link.startswith("../")}
        assert inside | {"index.md"} == set(pages)
        assert all((folder / link).is_file() for link in links - inside)
