"""Names the file of each page, so that no two are one file where case does not count (macOS, Windows)."""

from __future__ import annotations

from collections.abc import Iterable

from tdev_core.site.catalog import Catalog, Member

__all__ = ["Addresses", "category_address", "stem"]


def stem(member: Member) -> str:
    """Return the name of a member's files, without the suffix.

    torch has ``torch.cuda.Stream`` and ``torch.cuda.stream``: what is not written in small letters says its
    kind as well, whether another name is in its way or not, so that an address stays what it is.
    """
    last = member.name.rpartition(".")[2]
    return member.name if last == last.lower() else f"{member.name}.{member.kind}"


def category_address(category: str) -> str:
    """Return the address of a category's page."""
    return f"functions/{category.lower().replace('_', '-')}.html"


class Addresses:
    """The addresses of pages, relative to the root of the site."""

    def __init__(self, catalog: Catalog) -> None:
        self._by_name = catalog.by_name
        self._modules = catalog.modules
        _distinct(stem(member) for member in catalog.members.values())
        _distinct(catalog.modules)

    def member(self, member: Member) -> str:
        """Return where a member is shown: its own page, or its place on its module's."""
        if member.special:
            return f"api/{stem(member)}.html"
        return f"{self.module(member.home)}#{member.name}"

    def name(self, name: str) -> str:
        """Return where a name of torch's is shown; empty: nowhere."""
        if name in self._by_name:
            return self.member(self._by_name[name])
        return self.module(name) if name in self._modules else ""

    @staticmethod
    def module(name: str) -> str:
        """Return the address of a module's page."""
        return f"modules/{name}.html"

    @staticmethod
    def data(member: Member) -> str:
        """Return the address of a member's data."""
        return f"catalog/v1/members/{stem(member)}.json"


def _distinct(names: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        assert other == name, f"{name} and {other} would be one file where case does not count"
