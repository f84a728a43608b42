"""Reads the version of this tool and the addresses of its pages, from the installed distribution."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata

_DISTRIBUTION = "tdev"
_PAGES = "docs/codemod/"


def version() -> str:
    """Return the installed version; ``0+source`` for a checkout that was never installed."""
    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+source"


@lru_cache(maxsize=1)
def home() -> str:
    """Return the project's address without a slash at the end, or empty where the metadata has none."""
    try:
        urls = metadata.metadata(_DISTRIBUTION).get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    for label in ("documentation", "homepage", "repository", "source"):
        for url in urls:
            name, _, address = str(url).partition(",")
            if name.strip().lower() == label:
                return address.strip().rstrip("/")
    return ""


def link(docs: str) -> str:
    """Return the address of the page about a rule: absolute where the project has one, else in the source."""
    if not docs:
        return ""
    return f"{home()}/{_PAGES}{docs}" if home() else _PAGES + docs
