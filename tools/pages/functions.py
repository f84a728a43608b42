"""Make a page for each category of device functions: how each is answered.

The tables are those of ``python -m tdev matrix``, which reads them from the catalog: every function of
the migration plan, and every other one that some backend answers in its own way.
"""

from __future__ import annotations

from pathlib import Path

from tdev_core.commands.matrix_cli import markdown
from tdev_core.mirror.matrix import COLUMNS, load

__all__ = ["TARGET", "pages"]

TARGET = Path(__file__).resolve().parent.parent.parent / "docs" / "functions"

_ROUTES = """\
| route | meaning |
| --- | --- |
| same | device-independent: the mirror hands out torch's own object |
| native | torch's own function for that backend |
| mapped | another function of that backend means the same |
| emulated | tdev does it |
| noop | nothing is to be done there, and the note says why that is right |
| fallback | it runs on the CPU and comes back, with one warning |
| unsupported | it raises `tdev.UnsupportedError`, which says why and what to do instead |
"""


def pages(command: str) -> dict[str, str]:
    """Return all pages by file name; the index names the ``command`` that writes them."""
    table = load()
    rows = [r for r in table.rows if r.planned or any(r.cells[b].route != "same" for b in COLUMNS)]
    tables: dict[str, tuple[str, int, int, dict[str, int]]] = {}
    for category in sorted({r.category for r in rows}):
        own = [r for r in rows if r.category == category]
        lacking = {b: sum(r.cells[b].route == "unsupported" for r in own) for b in COLUMNS}
        tables[category] = (markdown(table, own), len(own), sum(r.planned for r in own), lacking)
    return render(table.torch, tables, command)


def render(
    torch: str, tables: dict[str, tuple[str, int, int, dict[str, int]]], command: str
) -> dict[str, str]:
    """Return all pages by file name.

    Args:
        torch: the version that the tables are about.
        tables: by category, the Markdown, the number of rows, how many of them the migration plan
            lists, and how many each backend cannot answer.
        command: what writes the pages.
    """
    found = {}
    lines = []
    for category, (table, total, planned, lacking) in tables.items():
        name = category.lower().replace("_", "-") + ".md"
        title = _title(category)
        found[name] = f"# {title}\n\n[All categories](index.md)\n\n{table}\n"
        without = ", ".join(f"{b.upper()} {n}" for b, n in lacking.items() if n) or "none"
        lines.append(f"| [{title}]({name}) | {total} | {planned} | {without} |")
    found["index.md"] = "\n".join(
        [
            "# Device functions",
            "",
            f"How each function of torch {torch} that depends on a device, or that the migration plan",
            f"lists, is answered on each backend. Written by `{command}` from the catalog;",
            "`python -m tdev matrix` prints and filters the same table.",
            "",
            "| category | functions | of the plan | unsupported |",
            "| --- | ---: | ---: | --- |",
            *lines,
            "",
            _ROUTES,
        ]
    )
    return found


def _title(category: str) -> str:
    words = [w if w in _ACRONYMS else w.lower() for w in category.split("_")]
    return " ".join([words[0] if words[0] in _ACRONYMS else words[0].capitalize(), *words[1:]])


_ACRONYMS = ("CUDA", "JIT", "MPS", "MTIA", "ONNX", "XPU")
