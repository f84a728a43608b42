"""Reads the version of this tool, the pages of its rules, and their addresses."""

from __future__ import annotations

import difflib
from functools import cache, lru_cache
from pathlib import Path

from tdev_core.codemod.errors import UsageError

_DISTRIBUTION = "tdev"
_HERE = Path(__file__).resolve()
# In an installation among what the site is made from; in a checkout where they are written.
_PLACES = tuple(
    root / "docs" / "codemod" for root in (_HERE.parents[2] / "site" / "sources", _HERE.parents[3])
)


def version() -> str:
    """Return the installed version; ``0+source`` for a checkout that was never installed."""
    from importlib import metadata  # which takes as long as all else of a small run's start

    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+source"


@lru_cache(maxsize=1)
def urls() -> dict[str, str]:
    """Return the project's addresses by label in lower case, without a slash at the end."""
    from importlib import metadata

    try:
        listed = metadata.metadata(_DISTRIBUTION).get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return {}
    pairs = (str(url).partition(",") for url in listed)
    return {name.strip().lower(): address.strip().rstrip("/") for name, _, address in pairs}


def home() -> str:
    """Return the project's address, or empty where its metadata has none."""
    known = urls()
    labels = ("documentation", "homepage", "repository", "source")
    return next((known[label] for label in labels if label in known), "")


def link(rule: str) -> str:
    """Return the address of a rule's page on the site, else in the repository; empty without either."""
    known = urls()
    if page(rule) is None:
        return ""
    if "documentation" in known:
        return f"{known['documentation']}/docs/codemod/{rule}.html"
    repository = known.get("repository") or known.get("source")
    return f"{repository}/blob/main/docs/codemod/{rule}.md" if repository else ""


@cache
def page(rule: str) -> str | None:
    """Return the page about a rule, in Markdown, or None where there is no such rule."""
    if rule not in rules():  # it may be any text
        return None
    return (_pages() / f"{rule}.md").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def rules() -> tuple[str, ...]:
    """Return the names of the rules that have a page."""
    return tuple(sorted(path.stem for path in _pages().glob("*.md") if path.stem != "index"))


def title(rule: str) -> str:
    """Return what a rule is about, in a few words; its name where it has no page."""
    return (page(rule) or f"# {rule}").partition("\n")[0].removeprefix("# ")


def words(rule: str) -> str:
    """Return what a rule says of itself, without the heading and the examples."""
    text = (page(rule) or "").partition("\n## ")[0].partition("\n")[2]
    paragraphs = [p.strip() for p in text.split("\n\n")]
    return "\n\n".join(p for p in paragraphs if p and not p.startswith("Rule `"))


def explain(rule: str) -> str:
    """Return the page about a rule; raises :class:`UsageError` naming the rules that there are."""
    text = page(rule)
    if text is None:
        near = difflib.get_close_matches(rule, rules(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the rules are {', '.join(rules())}"
        raise UsageError(f"--explain {rule}: there is no such rule; {hint}")
    return text


def _pages() -> Path:
    return next((place for place in _PLACES if place.is_dir()), _PLACES[0])
