"""Write ``docs/functions/``: how each device function is answered, a page for each category.

The tables are those of ``python -m tdev matrix``, which reads them from the catalog: every function of
the migration plan, and every other one that some backend answers in its own way.

    python -m generator.function_docs            # write
    python -m generator.function_docs --check    # exit 1 and print the diff if a page is stale
"""

from __future__ import annotations

import sys
from typing import Any

from generator import paths
from generator.pages import ask, keep

TARGET = paths.ROOT / "docs" / "functions"

_TABLES = """
import json, sys
from tdev_core.mirror.matrix import COLUMNS, load
from tdev_core.commands.matrix_cli import markdown
table = load()
rows = [r for r in table.rows if r.planned or any(r.cells[b].route != "same" for b in COLUMNS)]
tables = {}
for category in sorted({r.category for r in rows}):
    own = [r for r in rows if r.category == category]
    lacking = {b: sum(r.cells[b].route == "unsupported" for r in own) for b in COLUMNS}
    tables[category] = [markdown(table, own), len(own), sum(r.planned for r in own), lacking]
json.dump([table.torch, tables], sys.stdout)
"""

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


def main(argv: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    return keep(TARGET, render(*ask(_TABLES)), "generator.function_docs", about, argv)


def render(torch: str, tables: dict[str, list[Any]]) -> dict[str, str]:
    """All pages by file name.

    Args:
        torch: the version that the tables are about.
        tables: by category, the Markdown, the number of rows, how many of them the migration plan
            lists, and how many each backend cannot answer.
    """
    pages = {}
    lines = []
    for category, (table, total, planned, lacking) in tables.items():
        name = category.lower().replace("_", "-") + ".md"
        title = _title(category)
        pages[name] = f"# {title}\n\n[All categories](index.md)\n\n{table}\n"
        without = ", ".join(f"{b.upper()} {n}" for b, n in lacking.items() if n) or "none"
        lines.append(f"| [{title}]({name}) | {total} | {planned} | {without} |")
    pages["index.md"] = "\n".join(
        [
            "# Device functions",
            "",
            f"How each function of torch {torch} that depends on a device, or that the migration plan",
            "lists, is answered on each backend. Written by `python -m generator.function_docs` from",
            "the catalog; `python -m tdev matrix` prints and filters the same table.",
            "",
            "| category | functions | of the plan | unsupported |",
            "| --- | ---: | ---: | --- |",
            *lines,
            "",
            _ROUTES,
        ]
    )
    return pages


def _title(category: str) -> str:
    words = [w if w in _ACRONYMS else w.lower() for w in category.split("_")]
    return " ".join([words[0] if words[0] in _ACRONYMS else words[0].capitalize(), *words[1:]])


_ACRONYMS = ("CUDA", "JIT", "MPS", "MTIA", "ONNX", "XPU")


if __name__ == "__main__":
    sys.exit(main())
