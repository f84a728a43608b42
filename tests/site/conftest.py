"""The site, built once for all tests of it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="the site needs jinja2: pip install 'tdev[site]'")
pytest.importorskip("markdown_it", reason="the site needs markdown-it-py: pip install 'tdev[site]'")

from tdev_core.site.build import build, write
from tdev_core.site.catalog import Catalog
from tdev_core.site.reading import read
from tdev_core.site.sources import find


@pytest.fixture(scope="session")
def files() -> dict[str, str]:
    return build("1.2.3")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return read(find().root / "catalog.json")


@pytest.fixture(scope="session")
def folder(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("site") / "site"
    write(where, files, lambda _: None)
    return where
