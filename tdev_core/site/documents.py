"""Turns the Markdown of the repository into pages: the same tree, ``.html`` instead of ``.md``.

A link is resolved from the file that it stands in. One to another document leads to its page, one to another
file of the repository to that file where an address of the repository is known; one to nothing is an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tdev_core.errors import ConfigError
from tdev_core.site.sources import ROOT_PAGES, Sources

__all__ = ["Document", "Documents", "code", "rst"]

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FORMATTER = HtmlFormatter(nowrap=True)
# What has no colour of its own in site.css needs no element either.
_PLAIN = re.compile(r'<span class="(?:n|nb|nn|o|p|w|bp|nv|py|vm|gp|go)">([^<]*)</span>')
_ROLE = re.compile(
    r":[\w:]+:`~?\.?([^`<]*?)(?:\s*<[^`>]*>)?`|``(.+?)``|`([^`<]+?)(?:\s*<[^`>]*>)?`_*"
)


@dataclass(frozen=True)
class Document:
    """One Markdown file as a page.

    Attributes:
        source: its path in the repository.
        address: the page's, relative to the root of the site.
        title: the text of its first heading.
        body: what follows that heading.
        sections: the anchor and text of each heading of the second level.
        tables: the cells of each table as Markdown, row by row, headings first.
    """

    source: str
    address: str
    title: str
    body: Markup
    sections: tuple[tuple[str, str], ...]
    tables: tuple[tuple[tuple[str, ...], ...], ...]


class Documents:
    """All documents, read from one place."""

    def __init__(self, sources: Sources, repository: str | None = None) -> None:
        """Find the documents.

        Args:
            sources: where they are.
            repository: the address below which the files of the repository are to be read, or None.
        """
        self._sources = sources
        self._repository = repository
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self.addresses = {
            path: posixpath.splitext(path)[0].lower() + ".html"
            if path in ROOT_PAGES
            else posixpath.splitext(path)[0] + ".html"
            for path in self._paths()
        }

    def _paths(self) -> Iterable[str]:
        root = self._sources.root
        return sorted(path.relative_to(root).as_posix() for path in self._sources.documents())

    def every(self) -> list[Document]:
        """Return all of them, by path.

        Raises:
            ConfigError: a link leads nowhere.
        """
        return [self._document(path) for path in self.addresses]

    def _document(self, path: str) -> Document:
        text = (self._sources.root / path).read_text(encoding="utf-8")
        tokens = self._markdown.parse(text)
        anchors: dict[str, int] = {}
        sections = []
        title = ""
        for number, token in enumerate(tokens):
            if token.type == "heading_open":
                words = _plain(tokens[number + 1])
                token.attrSet("id", _anchor(words, anchors))
                if token.tag == "h2":
                    sections.append((str(token.attrGet("id")), words))
                if token.tag == "h1" and not title:
                    title = words
            elif token.type in ("th_open", "td_open") and (style := token.attrs.pop("style", "")):
                # The policy of the pages lets no element have a style of its own.
                if str(style).endswith("right"):
                    token.attrSet("class", "n")
            elif token.type == "inline":
                if not token.content and tokens[number - 1].type == "th_open":
                    tokens[number - 1].tag = tokens[number + 1].tag = "td"  # a heading of nothing
                for child in token.children or ():
                    self._resolve(child, token.children or [], path)
        # The template shows the first heading itself.
        ends = next((n for n, token in enumerate(tokens) if token.type == "heading_close"), -1)
        if tokens and tokens[0].tag == "h1":
            body = tokens[ends + 1 :]
        else:
            body = tokens
        return Document(
            source=path,
            address=self.addresses[path],
            title=title or path,
            # nosec: the parser has html=False, so that what is not Markdown comes out escaped.
            body=Markup(self._render(body)),  # nosec B704
            sections=tuple(sections),
            tables=tuple(_tables(tokens)),
        )

    def _render(self, tokens: Sequence[Token]) -> str:
        parts = []
        plain: list[Token] = []
        tables = 0
        environment: dict[str, Any] = {}

        def flush() -> None:
            parts.append(self._markdown.renderer.render(plain, self._markdown.options, environment))
            plain.clear()

        for token in tokens:
            if token.type == "fence":
                flush()
                parts.append(str(code(token.content, token.info.strip())))
            elif token.type == "table_open":
                flush()
                tables += 1
                parts.append(
                    f'<div class="wide" tabindex="0" role="region" aria-label="Table {tables}">'
                )
                plain.append(token)
            elif token.type == "table_close":
                plain.append(token)
                flush()
                parts.append("</div>\n")
            else:
                plain.append(token)
        flush()
        return "".join(parts)

    def _resolve(self, token: Token, siblings: list[Token], path: str) -> None:
        if token.type != "link_open":
            return
        href = str(token.attrGet("href") or "")
        if _ELSEWHERE.match(href):
            token.attrSet("rel", "noreferrer")
            return
        target, _, fragment = href.partition("#")
        if not target:
            return
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        address = self.addresses.get(target)
        if address:
            here = posixpath.dirname(self.addresses[path])
            relative = posixpath.relpath(address, here or ".")
            token.attrSet("href", relative + (f"#{fragment}" if fragment else ""))
            return
        if self._sources.whole and not (self._sources.root / target).exists():
            raise ConfigError(f"{path}: the link to {href} leads nowhere.")
        if self._repository:
            token.attrSet("href", f"{self._repository.rstrip('/')}/{target}")
            return
        # What the site does not have is named, and no link.
        closing = next(t for t in siblings[siblings.index(token) :] if t.type == "link_close")
        for one in (token, closing):
            one.tag = "span"
        token.attrs = {"class": "file", "title": f"{target} in the repository"}


def code(text: str, language: str = "python") -> Markup:
    """Return ``text`` as a block of code, coloured by class; a language that nobody knows stays plain."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    body = _PLAIN.sub(r"\1", highlight(text.rstrip("\n") + "\n", lexer, _FORMATTER))
    # nosec: what Pygments returns is escaped, but for the elements that it has made itself.
    return Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(Markup(body))  # nosec B704


def rst(text: str) -> Markup:
    """Return a line of torch's documentation: roles and literals of reStructuredText become code."""
    parts = []
    at = 0
    for found in _ROLE.finditer(text):
        words = found[1] or found[2] or found[3] or ""
        parts += [escape(text[at : found.start()]), Markup("<code>{}</code>").format(words.strip())]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _anchor(words: str, taken: dict[str, int]) -> str:
    """Return the anchor that a heading has on GitHub, so that links fit there and here."""
    base = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
    count = taken.get(base, 0)
    taken[base] = count + 1
    return f"{base}-{count}" if count else base


def _tables(tokens: Sequence[Token]) -> Iterable[tuple[tuple[str, ...], ...]]:
    rows: list[tuple[str, ...]] = []
    cells: list[str] = []
    for number, token in enumerate(tokens):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            cells = []
        elif token.type in ("th_open", "td_open"):
            cells.append(_plain(tokens[number + 1]))
        elif token.type == "tr_close":
            rows.append(tuple(cells))
        elif token.type == "table_close":
            yield tuple(rows)
