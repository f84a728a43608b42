"""The whole site: what is on it, how large it is, that it is the same each time, and what stops it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tdev_core.codemod.output import about
from tdev_core.commands.site_cli import main
from tdev_core.errors import ConfigError
from tdev_core.site.build import MARK, build, dead_links, write
from tdev_core.site.catalog import BACKENDS, Catalog
from tdev_core.site.naming import Addresses, stem
from tdev_core.site.sources import Sources, find
from tests.forkserver import environment

MB = 1_000_000
KB = 1_000


def test_it_is_small(files: dict[str, str]) -> None:
    sizes = {path: len(text.encode()) for path, text in files.items()}
    assert sum(sizes.values()) < 25 * MB
    first_view = ["index.html", "assets/site.css", "assets/search.js", "assets/icon.svg"]
    assert sum(sizes[path] for path in first_view) <= 100 * KB
    assert len(gzip.compress(files["assets/index.js"].encode(), 9)) <= 150 * KB


_DIGESTS = """
import hashlib, json
from tdev_core.site.build import build
print(json.dumps({path: hashlib.sha256(text.encode()).hexdigest() for path, text in build("1.2.3").items()}))
"""


@pytest.mark.deep  # it builds the site anew
def test_the_same_sources_give_the_same_bytes(files: dict[str, str]) -> None:
    """In another process, where sets have another order."""
    settings = environment(PYTHONHASHSEED="12")
    ran = subprocess.run(
        [sys.executable, "-c", _DIGESTS], env=settings, capture_output=True, text=True, check=True
    )
    again = json.loads(ran.stdout)
    assert list(again) == list(files)
    own = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
    assert [path for path in files if again[path] != own[path]] == []


def test_each_member_that_differs_or_has_a_note_has_a_page(
    files: dict[str, str], catalog: Catalog
) -> None:
    expected = {
        f"api/{stem(member)}.html"
        for member in catalog.members.values()
        if len({cell.route for cell in member.cells.values()}) > 1
        or any(cell.note for cell in member.cells.values())
    }
    assert {path for path in files if path.startswith("api/")} == expected
    assert len(expected) > 1400


def test_every_other_name_has_a_place_on_a_module_page(
    files: dict[str, str], catalog: Catalog
) -> None:
    addresses = Addresses(catalog)
    places = {
        module: set(re.findall(r'\bid="([^"]+)"', files[f"modules/{module}.html"]))
        for module in catalog.modules
    }
    for name, member in catalog.by_name.items():
        assert name in places[name.rpartition(".")[0]]
        assert addresses.member(member).partition("#")[0] in files


def test_a_page_says_what_the_catalog_says(files: dict[str, str], catalog: Catalog) -> None:
    page = Text.of(files["api/torch.cuda.memory_allocated.html"])
    member = catalog.by_name["torch.cuda.memory_allocated"]
    for backend in BACKENDS:
        assert member.cells[backend].route in page.rows[backend]
        assert member.cells[backend].evidence in page.rows[backend]
    assert "heap bytes in use" in page.rows["cpu"]
    assert "return torch.mps.current_allocated_memory()" in page.text
    assert "memory_allocated(device: torch.types.Device = None) -> int" in page.text
    assert "torch.cuda.memory.memory_allocated" in page.text


def test_unsupported_says_what_to_call_instead(files: dict[str, str], catalog: Catalog) -> None:
    asked = [m for m in catalog.special if any(c.instead for c in m.cells.values())]
    assert len(asked) > 20
    for member in asked:
        page = Text.of(files[f"api/{stem(member)}.html"]).text
        assert "Instead" in page, member.name


def test_no_page_has_code_of_its_own(files: dict[str, str]) -> None:
    """The policy forbids inline scripts, styles and handlers; a page that has some would only look broken."""
    for path, text in files.items():
        if path.endswith(".html"):
            assert "default-src 'none'" in text[:400], path
            assert not re.search(r"<script(?! src=)|<style\b| on\w+=\"| style=\"", text), path


def test_addresses_differ_where_case_does_not_count(files: dict[str, str]) -> None:
    assert len({path.lower() for path in files}) == len(files)
    assert {"api/torch.cuda.Stream.class.html", "api/torch.cuda.stream.html"} <= set(files)


def test_a_link_that_leads_nowhere_is_found() -> None:
    page = '<a href="b.html#there">x</a><a href="c.html">y</a><a href="?q=1">z</a><img src="d.png">'
    found = list(dead_links({"a.html": page, "b.html": '<p id="here">'}))
    assert found == [
        "a.html: b.html#there (no such place on that page)",
        "a.html: c.html",
        "a.html: d.png",
    ]


def test_a_dead_link_of_a_document_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copyfile(find().root / "catalog.json", tmp_path / "catalog.json")
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\n[gone](gone.md)\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"docs/guide\.md: the link to gone\.md leads nowhere"):
        build("1", sources=Sources(tmp_path, whole=True))


def test_the_address_that_a_report_gives_of_a_rule_is_a_page(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(about, "urls", lambda: {"documentation": "https://tdev.example"})
    for rule in about.rules():
        assert about.link(rule).removeprefix("https://tdev.example/") in files


def test_documents_link_to_pages_and_to_the_repository(files: dict[str, str]) -> None:
    assert 'href="docs/guide.html"' in files["readme.html"]
    assert 'title="examples/train_gpt.py in the repository"' in files["readme.html"]
    assert 'href="audit.html#the-site"' in files["docs/guide.html"]


@pytest.mark.parametrize("damage", ["{", '{"schema": 3}', "[]"])
def test_a_damaged_catalog_is_refused_in_words(tmp_path: Path, damage: str) -> None:
    (tmp_path / "catalog.json").write_text(damage)
    with pytest.raises(ConfigError, match="cannot be read as the catalog"):
        build("1", sources=Sources(tmp_path, whole=True))


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    with pytest.raises(ConfigError, match="holds something else"):
        write(tmp_path, {MARK: "1\n"}, lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_place_that_cannot_be_is_said_before_anything_is_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    for target, words in (("file", "holds something else"), ("file/x", "cannot be written")):
        assert main(["--output", str(tmp_path / target)]) == 2
        said = capsys.readouterr().err
        assert words in said and "Building" not in said


def test_what_was_built_before_is_replaced_whole(tmp_path: Path) -> None:
    write(tmp_path / "s", {MARK: "1\n", "old/a.html": "ä"}, lambda _: None)
    write(tmp_path / "s", {MARK: "2\n", "b.html": "ö"}, lambda _: None)
    found = {p.relative_to(tmp_path / "s").as_posix() for p in (tmp_path / "s").rglob("*")}
    assert found == {MARK, "b.html"}
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_an_interruption_leaves_a_whole_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removing the one before takes the longest of all: what is interrupted there is done."""
    write(tmp_path / "s", {MARK: "1\n", "a.html": "x", "b.html": "x"}, lambda _: None)
    remove = shutil.rmtree

    def interrupted(path: Path, ignore_errors: bool = False) -> None:
        if (path / MARK).is_file():
            (path / MARK).unlink()
            raise KeyboardInterrupt
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "s", {MARK: "2\n", "a.html": "y"}, lambda _: None)
    found = {path.name: path.read_text() for path in (tmp_path / "s").iterdir()}
    assert found == {MARK: "2\n", "a.html": "y"}


def test_data_fits_its_schema(files: dict[str, str], catalog: Catalog) -> None:
    schema = json.loads(files["catalog/v1/schema.json"])
    whole = json.loads(files["catalog/v1/catalog.json"])
    assert [one["name"] for one in whole["members"]] == list(catalog.members)
    fits(whole, schema, schema)
    for row in whole["members"][::50]:
        own = json.loads(files[f"catalog/v1/members/{stem(catalog.members[row['name']])}.json"])
        assert own == row
        assert row["page"].split("#")[0] in files
    own = {row["name"] for row in whole["members"] if "backends" not in row}
    assert own == {
        name
        for name, member in catalog.members.items()
        if {(c.route, c.evidence, c.note) for c in member.cells.values()}
        == {("same", "inherited", "")}
    }
    with pytest.raises(AssertionError):
        fits({**whole, "more": 1}, schema, schema)


@pytest.mark.deep
def test_a_library_says_so_too(files: dict[str, str]) -> None:
    """The whole, and each member's own file by the part of the schema that is said to be theirs."""
    jsonschema = pytest.importorskip(
        "jsonschema",
        reason="another's reading of the schema needs jsonschema: pip install jsonschema",
    )
    schema = json.loads(files["catalog/v1/schema.json"])
    reader = jsonschema.Draft202012Validator
    reader.check_schema(schema)
    reader(schema).validate(json.loads(files["catalog/v1/catalog.json"]))
    one = reader({**schema["$defs"]["member"], "$defs": schema["$defs"]})
    own = [text for path, text in files.items() if path.startswith("catalog/v1/members/")]
    assert len(own) > 6000
    for text in own:
        one.validate(json.loads(text))
    assert not one.is_valid({**json.loads(own[0]), "priority": "P9"})


def test_the_feed_is_atom_with_an_entry_for_each_torch(
    files: dict[str, str], catalog: Catalog
) -> None:
    feed = ElementTree.fromstring(files["versions/feed.xml"])
    name = "{http://www.w3.org/2005/Atom}"
    entries = feed.findall(f"{name}entry")
    assert [one.findtext(f"{name}id") for one in entries] == [
        f"urn:tdev:torch:{torch}" for torch in reversed(catalog.torches[1:])
    ]
    for element in (feed, *entries):
        for part in ("id", "title", "updated"):
            assert element.findtext(f"{name}{part}"), part


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> None:
    """Judge a value by the few words of JSON schema that ours uses; an unknown word is an error."""
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        fits(value, target, root)
        return
    known = {"type", "description", "required", "additionalProperties", "properties", "items"}
    known |= {"enum", "const", "minLength", "$schema", "title", "$defs"}
    assert set(schema) <= known
    types = {"object": dict, "array": list, "string": str}
    if "type" in schema:
        assert isinstance(value, types[schema["type"]]), (value, schema)
    assert "const" not in schema or value == schema["const"]
    assert "enum" not in schema or value in schema["enum"]
    if isinstance(value, str):
        assert len(value) >= schema.get("minLength", 0)
    if isinstance(value, list) and "items" in schema:
        for one in value:
            fits(one, schema["items"], root)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        assert set(schema.get("required", ())) <= set(value)
        others = schema.get("additionalProperties", True)
        for key, one in value.items():
            assert key in properties or others is not False, key
            if key in properties or isinstance(others, dict):
                fits(one, properties.get(key, others), root)


class Text(HTMLParser):
    """The words of a page, and those of each table row that has an id."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.rows: dict[str, str] = {}
        self._row = ""

    @classmethod
    def of(cls, page: str) -> Text:
        made = cls()
        made.feed(page)
        return made

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._row = dict(attrs).get("id") or ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._row:
            self.rows[self._row] = self.rows.get(self._row, "") + data
