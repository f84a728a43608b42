"""Builds the whole site: pages, data, index and assets, each link judged, written at one stroke.

What always holds: the same sources give the same bytes; a page links to nothing that is not there; nothing
but what was built lies in the folder afterwards, and a folder that was not built by this is not touched.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import jinja2

from tdev_core.errors import ConfigError
from tdev_core.site import data, feeds
from tdev_core.site.catalog import Catalog
from tdev_core.site.documents import Documents, code, rst
from tdev_core.site.naming import Addresses, category_address
from tdev_core.site.pages import Page, navigation, pages
from tdev_core.site.reading import read
from tdev_core.site.searching import index
from tdev_core.site.sources import Sources, find
from tdev_core.site.words import ABOUT, DEVICES, EVIDENCE, ROUTES, title_of

__all__ = ["MARK", "assets", "build", "digest", "environment", "place", "render", "write"]

MARK = ".tdev-site"
_HERE = Path(__file__).resolve().parent
_ASSETS = _HERE / "assets"


def build(
    version: str, *, sources: Sources | None = None, repository: str | None = None
) -> dict[str, str]:
    """Return every file of the site with its text, by path relative to the root, in POSIX form.

    Args:
        version: of tdev, which every page names.
        sources: what it is made from; those of this installation where None.
        repository: the address below which the files of the repository can be read, for links to them.

    Raises:
        ConfigError: something it is made from is missing or damaged, or a link leads nowhere.
    """
    sources = sources or find()
    catalog = read(sources.root / "catalog.json")
    addresses = Addresses(catalog)
    documents = Documents(sources, repository).every()
    templates = environment(catalog, addresses, version)
    templates.globals["navigation"] = navigation(documents)
    files = {f"assets/{name}": text for name, text in assets().items()}
    files["assets/index.js"] = index(catalog, documents)
    # The documents lie here as they do in the repository, so that they find their images by the same paths.
    files |= {
        path.relative_to(sources.root).as_posix(): path.read_text("utf-8")
        for path in sources.images()
    }
    for page in pages(catalog, addresses, documents):
        assert page.address not in files, f"two pages would be {page.address}"
        files[page.address] = render(templates, page)
    files |= data.files(catalog, addresses, version)
    files["versions/feed.xml"] = feeds.atom(catalog, version)
    files["llms.txt"] = feeds.llms(catalog, documents, version)
    files[MARK] = f"{digest(version, sources, repository)}\n"
    dead = sorted(dead_links(files))
    if dead:
        shown = "\n".join(dead[:20])
        raise ConfigError(f"{len(dead)} links of the site lead nowhere:\n{shown}")
    return files


def assets() -> dict[str, str]:
    """Return the styles, scripts and images that are written by hand, by name."""
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(_ASSETS.iterdir())
        if path.is_file()
    }


def digest(version: str, sources: Sources, repository: str | None = None) -> str:
    """Return a number that changes with anything that the site is made from."""
    total = hashlib.sha256(f"{version}\n{repository}\n".encode())
    parts = [
        path for path in _HERE.rglob("*") if path.suffix in (".py", ".j2", ".js", ".css", ".svg")
    ]
    parts += [sources.root / "catalog.json", *sources.documents(), *sources.images()]
    for path in sorted(parts):
        body = path.read_bytes()
        total.update(f"{path.name} {len(body)}\n".encode())
        total.update(body)
    return total.hexdigest()


def environment(
    catalog: Catalog | None, addresses: Addresses | None, version: str
) -> jinja2.Environment:
    """Return the templates, with what all of them use. Names of torch are links where there is a catalog."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(
        version=version,
        torches=catalog.torches if catalog else (),
        backends=tuple(DEVICES),
        devices=DEVICES,
        about_backend=ABOUT,
        routes=ROUTES,
        evidence_words=EVIDENCE,
        navigation=[],
        address_of=addresses.member if addresses else None,
        address_of_name=addresses.name if addresses else None,
        category_address=category_address,
        title_of=title_of,
        module_address=Addresses.module,
    )
    templates.filters.update(rst=rst, code=code)
    return templates


def render(templates: jinja2.Environment, page: Page) -> str:
    """Return a page as HTML."""
    root = "../" * page.address.count("/")
    return templates.get_template(page.template).render(page=page, root=root, **page.view)


_TARGET = re.compile(r'\b(?:href|src)="([^"]*)"')
_ANCHOR = re.compile(r'\bid="([^"]+)"')
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def dead_links(files: Mapping[str, str]) -> Iterable[str]:
    """Yield a line for each link of a page that leads to no file, or to no anchor of one."""
    anchors = {path: set(_ANCHOR.findall(text)) for path, text in files.items() if _is_page(path)}
    for path, text in files.items():
        if not _is_page(path):
            continue
        folder = path.rpartition("/")[0]
        for link in sorted(set(_TARGET.findall(text))):
            link = unescape(link)
            if _ELSEWHERE.match(link):
                continue
            target, _, fragment = link.partition("#")
            target = target.partition("?")[0]
            whole = os.path.normpath(f"{folder}/{target}").lstrip("/") if target else path
            whole = unquote(whole).replace(os.sep, "/")
            if whole not in files:
                yield f"{path}: {link}"
            elif fragment and unquote(fragment) not in anchors.get(whole, ()):
                yield f"{path}: {link} (no such place on that page)"


def _is_page(path: str) -> bool:
    return path.endswith(".html")


def place(folder: Path) -> Path:
    """Return a new folder beside ``folder``, in which a site can be made that shall stand there.

    Raises:
        ConfigError: the folder has files that no earlier run has written, or cannot be written.
    """
    if folder.exists() and not (folder / MARK).is_file():
        if not folder.is_dir() or any(folder.iterdir()):
            raise ConfigError(
                f"{folder} holds something else than a site of tdev; name another folder, or remove it."
            )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from None


def write(folder: Path, files: Mapping[str, str], report: Callable[[str], None]) -> None:
    """Make ``folder`` hold exactly ``files``: built beside it, then put in its place.

    Raises:
        ConfigError: the folder has files that no earlier run has written, or cannot be written.
    """
    made = place(folder)
    old = made.with_name(f"{made.name}-old")
    try:
        for path, text in files.items():
            file = made / path
            file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with open(handle, "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
        made.chmod(0o755)
        if folder.exists():
            folder.rename(old)  # removing takes a while, in which there would be half a site
        made.rename(folder)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        for leftover in (made, old):
            shutil.rmtree(leftover, ignore_errors=True)
    size = sum(len(text.encode()) for text in files.values())
    report(f"{len(files):,} files, {size / 1e6:.1f} MB, in {folder}")


def _unwritable(folder: Path, error: OSError) -> ConfigError:
    where = f" ({error.filename})" if error.filename else ""
    return ConfigError(f"{folder} cannot be written: {error.strerror or error}{where}.")
