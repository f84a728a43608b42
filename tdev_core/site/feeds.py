"""Makes what programs follow: the Atom feed of torch's releases, and ``llms.txt``."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tdev_core.site.catalog import BACKENDS, Catalog, Member
from tdev_core.site.documents import Document
from tdev_core.site.versions import RECORDED, difference

__all__ = ["atom", "llms"]

_NAMED = 12


def atom(catalog: Catalog, version: str) -> str:
    """Return the feed: one entry for each torch, the newest first."""
    entries = []
    torches = catalog.torches
    for old, new in reversed(list(zip(torches, torches[1:], strict=False))):
        one = difference(catalog, old, new)
        words = (
            f"{len(one.added)} names added, {len(one.removed)} removed, {len(one.changed)} with another "
            f"signature or path. New: {_some(one.added)}. Gone: {_some(one.removed)}."
        )
        entries.append(
            "<entry>"
            f"<title>torch {new}: what differs from {old}</title>"
            f'<link href="../{one.address}"/>'
            f"<id>urn:tdev:torch:{new}</id>"
            f"<updated>{RECORDED[new]}T00:00:00Z</updated>"
            f"<summary>{escape(words)}</summary>"
            "</entry>\n"
        )
    newest = max(RECORDED[torch] for torch in torches)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        "<title>torch releases, as tdev sees them</title>\n"
        "<id>urn:tdev:torch</id>\n"
        f"<updated>{newest}T00:00:00Z</updated>\n"
        "<author><name>tdev contributors</name></author>\n"
        f"<generator>tdev {escape(version)}</generator>\n"
        '<link rel="alternate" href="index.html"/>\n' + "".join(entries) + "</feed>\n"
    )


def _some(members: Iterable[Member]) -> str:
    names = [member.name for member in members]
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + rest if names else "none"


def llms(catalog: Catalog, documents: list[Document], version: str) -> str:
    """Return ``llms.txt``: what this is, and where its parts can be read by a program."""
    lines = [
        "# tdev",
        "",
        f"> tdev {version} runs PyTorch code that was written for CUDA on CUDA, MPS, MLX and plain CPU. This site says "
        f"how each of the {len(catalog.by_name)} names of torch {catalog.torches[0]} to {catalog.torches[-1]} is answered "
        f"on each backend ({', '.join(BACKENDS)}), and by what that is known.",
        "",
        "## Data",
        "",
        "- [The whole catalog](catalog/v1/catalog.json): one line of JSON for each member; one without `backends` is torch's own object on each of them",
        "- [Its JSON schema](catalog/v1/schema.json)",
        "- catalog/v1/members/NAME.json: one member by its shortest name; where the last part of the name has capitals, "
        "its kind follows (torch.cuda.Stream.class.json)",
        "- [What differs from torch to torch](versions/feed.xml): an Atom feed",
        "",
        "## Documentation",
        "",
        *(
            f"- [{document.title}]({document.address})"
            for document in documents
            if document.source.count("/") < 2
        ),
        "",
        "## Functions by category",
        "",
        "- [Every device function](functions/index.html)",
        *(f"- [torch on {backend}](backends/{backend}.html)" for backend in BACKENDS),
        "",
    ]
    return "\n".join(lines)
