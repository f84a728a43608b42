"""Says which pages there are and what each shows; the templates only say how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tdev_core.site import versions
from tdev_core.site.catalog import BACKENDS, Catalog, Member
from tdev_core.site.documents import Document
from tdev_core.site.naming import Addresses, category_address
from tdev_core.site.plots import budgets
from tdev_core.site.words import ABOUT, DEVICES, ROUTES, title_of

__all__ = ["Page", "navigation", "pages"]

_GUIDES = (
    ("docs/guide.md", "How tdev behaves"),
    ("docs/run.md", "Run untouched"),
    ("docs/troubleshooting.md", "Troubleshooting"),
    ("docs/pre_commit.md", "Pre-commit"),
    ("docs/ci.md", "CI"),
)


@dataclass(frozen=True)
class Page:
    """One page: where it is, which template makes it, and of what.

    Attributes:
        address: relative to the root of the site.
        template: the name of its template.
        title: what the tab, and a search engine, shows.
        about: one sentence on it.
        view: what the template is given.
    """

    address: str
    template: str
    title: str
    about: str
    view: dict[str, Any]


def pages(catalog: Catalog, addresses: Addresses, documents: list[Document]) -> Iterator[Page]:
    """Yield every page of the site."""
    yield _home(catalog)
    yield from (_member(catalog, addresses, member) for member in catalog.special)
    yield from _modules(catalog)
    yield from _backends(catalog)
    yield from _categories(catalog)
    yield Page(
        "functions/methods.html",
        "methods.html.j2",
        "Methods and constructors with a shim",
        "Methods that no name leads to, and how tdev reaches them.",
        {"shims": list(catalog.shims.values())},
    )
    yield from _versions(catalog)
    yield from _documents(documents)
    yield Page(
        "catalog/index.html",
        "data.html.j2",
        "Data",
        "The catalog as JSON, with its schema.",
        {"examples": [m for m in catalog.special if m.name in ("torch.cuda.memory_allocated",)]},
    )


def _home(catalog: Catalog) -> Page:
    return Page(
        "index.html",
        "home.html.j2",
        "tdev: does it run on your device?",
        "How every name of torch is answered on CUDA, MPS, MLX and the CPU.",
        {
            "names": len(catalog.by_name),
            "totals": {backend: _counts(catalog.special, backend) for backend in BACKENDS},
            "special": len(catalog.special),
            "popular": [
                catalog.by_name[name]
                for name in (
                    "torch.cuda.synchronize",
                    "torch.cuda.memory_allocated",
                    "torch.cuda.Stream",
                    "torch.amp.autocast",
                    "torch.cuda.graph",
                    "torch.nn.functional.scaled_dot_product_attention",
                )
                if name in catalog.by_name
            ],
        },
    )


def _counts(members: Iterable[Member], backend: str) -> dict[str, int]:
    counts = Counter(member.cells[backend].route for member in members)
    return {route: counts[route] for route in ROUTES if counts[route]}


def _member(catalog: Catalog, addresses: Addresses, member: Member) -> Page:
    release = ".".join(catalog.torch.split(".")[:2])
    return Page(
        addresses.member(member),
        "member.html.j2",
        member.name,
        f"How {member.name} is answered on CUDA, MPS, MLX and the CPU.",
        {
            "member": member,
            "instead": _instead(member),
            "torch_docs": f"https://docs.pytorch.org/docs/{release}/search.html?q={member.name}",
            "data": addresses.data(member),
        },
    )


def _instead(member: Member) -> dict[str, list[str]]:
    """Return what is to be called instead, each with the backends that say so."""
    found: dict[str, list[str]] = {}
    for backend in BACKENDS:
        if words := member.cells[backend].instead:
            found.setdefault(words, []).append(backend)
    return found


def _modules(catalog: Catalog) -> Iterator[Page]:
    for module in catalog.modules.values():
        names = [f"{module.name}.{name}" for name in module.names]
        members = [(name, catalog.by_name[name]) for name in names]
        own = [member for name, member in members if member.name == name]
        others = [(name, member) for name, member in members if member.name != name]
        below = [n for n in catalog.modules if n.rpartition(".")[0] == module.name]
        yield Page(
            Addresses.module(module.name),
            "module.html.j2",
            module.name,
            f"Every name of {module.name}, and how it is answered on each backend.",
            {"module": module, "own": own, "others": others, "below": below},
        )
    yield Page(
        "modules/index.html",
        "modules.html.j2",
        "Modules of torch",
        "Every public module of torch.",
        {"modules": list(catalog.modules.values())},
    )


def _backends(catalog: Catalog) -> Iterator[Page]:
    for backend in BACKENDS:
        yield Page(
            f"backends/{backend}.html",
            "backend.html.j2",
            f"torch on {DEVICES[backend]}",
            ABOUT[backend],
            {
                "backend": backend,
                "counts": _counts(catalog.special, backend),
                "evidence": Counter(m.cells[backend].evidence for m in catalog.special),
                "categories": sorted({m.category for m in catalog.special}),
                "members": catalog.special,
            },
        )


def _categories(catalog: Catalog) -> Iterator[Page]:
    """Yield the tables of what depends on a device or is listed by the migration plan, by category."""
    rows = [member for member in catalog.members.values() if member.planned or member.routed]
    listed = []
    for category in sorted({m.category for m in rows} | {gone.category for gone in catalog.gone}):
        own = [member for member in rows if member.category == category]
        gone = [one for one in catalog.gone if one.category == category]
        lacking = {b: sum(m.cells[b].route == "unsupported" for m in own) for b in BACKENDS}
        planned = sum(c == category for c in catalog.plan.values())
        listed.append((category, len(own), planned, lacking))
        yield Page(
            category_address(category),
            "category.html.j2",
            title_of(category),
            f"Device functions of torch: {title_of(category).lower()}.",
            {"category": category, "members": own, "gone": gone},
        )
    yield Page(
        "functions/index.html",
        "categories.html.j2",
        "Functions by category",
        "Every function of torch that depends on a device, by category.",
        {"listed": listed},
    )
    plan = [(name, category, catalog.by_name.get(name)) for name, category in catalog.plan.items()]
    yield Page(
        "functions/plan.html",
        "plan.html.j2",
        "The migration plan",
        f"The {len(plan)} functions that the migration plan lists.",
        {"plan": plan, "gone": {one.name: one for one in catalog.gone}},
    )


def _versions(catalog: Catalog) -> Iterator[Page]:
    every = [versions.difference(catalog, *pair) for pair in versions.pairs(catalog.torches)]
    for one in every:
        yield Page(
            one.address,
            "difference.html.j2",
            f"torch {one.old} → {one.new}",
            f"What torch {one.new} adds, drops and changes against {one.old}.",
            {
                "difference": one,
                "removed": _by_module(one.removed),
                "added": _by_module(one.added),
            },
        )
    yield Page(
        "versions/index.html",
        "versions.html.j2",
        "From one torch to another",
        "What differs between two torches.",
        {"differences": every},
    )


def _by_module(members: Iterable[Member]) -> list[tuple[str, list[Member]]]:
    """Return members by the module of their shortest name, both in order."""
    ordered = sorted(members, key=lambda member: (member.home, member.name))
    return [(home, list(own)) for home, own in groupby(ordered, key=lambda member: member.home)]


def _documents(documents: list[Document]) -> Iterator[Page]:
    for document in documents:
        yield Page(
            document.address,
            "document.html.j2",
            document.title,
            document.title,
            {"document": document, "plot": budgets(document.tables)},
        )


def navigation(documents: list[Document]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the one navigation: headings, and below each the titles and addresses of its pages."""
    by_path = {document.source: (document.title, document.address) for document in documents}
    docs = [path for path in by_path if path.startswith("docs/") and path.count("/") == 1]
    first = [(title, by_path[path][1]) for path, title in _GUIDES if path in by_path]
    rest = [by_path[path] for path in docs if path not in dict(_GUIDES)]
    lists = [
        by_path[path]
        for path in ("docs/codemod/index.md", "docs/errors/index.md", "docs/packages/index.md")
        if path in by_path
    ]
    measured = [by_path[path] for path in by_path if path.startswith("benchmarks/")]
    about = [by_path[path] for path in by_path if "/" not in path]
    return [
        ("Start", [("About tdev", "readme.html"), *first]),
        ("Guides", sorted(rest)),
        ("Reference", [("Functions by category", "functions/index.html"), *lists]),
        ("Measured", measured),
        ("Project", [one for one in about if one[1] != "readme.html"]),
    ]
