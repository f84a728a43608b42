"""``python -m generator``: installed torch, and what is recorded of others → ``catalog.json`` → ``generated/``.

Under a torch that is recorded, ``--check`` compares the catalog's view of that one. Exit status: 0 done, or nothing to do; 1 with ``--check``, something drifted; 2 an error, and nothing
was written.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from difflib import unified_diff
from typing import Any

from generator import catalog as catalog_file
from generator import paths, union
from generator.errors import GenerationError
from generator.facts.pin import PINNED, FactsError, check_pinned, installed_version
from generator.plan.all_torches import planned, planned_alone
from generator.running.garbage import leave, uncollected

MEND = "Mend it with: python -m generator"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        with uncollected():
            if options.render_only:
                return _render_only(check=options.check)
            return _check() if options.check else _generate()
    except (GenerationError, FactsError) as error:
        print(f"generator: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("generator: interrupted; every file is as it was or as it shall be.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m generator", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; print the diff and exit 1 on drift"
    )
    parser.add_argument(
        "--render-only", action="store_true", help="from catalog.json as it is; needs no torch"
    )
    return parser


def _generate() -> int:
    from generator.unchanged import LastRun

    start = time.perf_counter()
    check_pinned()
    last = LastRun()
    summary = last.summary()
    if summary is not None:
        print(summary)
        print(f"nothing changed since the last run; {time.perf_counter() - start:.1f} s")
        return 0
    summary, done = write(planned())
    print(summary)
    print(f"{done}; {time.perf_counter() - start:.1f} s")
    last.remember(summary)
    return 0


def write(catalog: dict[str, Any]) -> tuple[str, str]:
    """Write ``catalog.json`` and what is emitted from it; return what it holds, and what has changed."""
    from generator.render.render import render
    from generator.render.writer import write_file, write_tree

    text = catalog_file.dumps(catalog)
    files = render(catalog_file.loads(text), paths.TEMPLATES)
    written = write_file(paths.CATALOG, text)
    changed, deleted = write_tree(paths.GENERATED, files)
    counts = Counter(row["mirror"] for row in catalog["members"].values())
    return (
        f"torch {', '.join(map(union.short, union.torches(catalog)))}: {len(catalog['modules'])} modules, {len(catalog['members'])} members "
        f"({', '.join(f'{number} {kind}' for kind, number in sorted(counts.items()))}), "
        f"{len(catalog['shims'])} shims",
        f"catalog.json {'written' if written else 'unchanged'}; generated/: {len(files)} files, "
        f"{changed} written, {deleted} deleted",
    )


def _check() -> int:
    status = _render_only(check=True)
    if installed_version() == PINNED:
        before = paths.CATALOG.read_text(encoding="utf-8")
        catalog = catalog_file.dumps(planned())
    else:
        view = union.view(catalog_file.read(paths.CATALOG), installed_version())
        before = catalog_file.dumps(view)
        # 2.14.1 is compared with what 2.14.0 has: a patch release changes no name.
        catalog = catalog_file.dumps(planned_alone() | {"torch": view["torch"]})
    if catalog != before:
        sys.stdout.writelines(
            unified_diff(
                before.splitlines(keepends=True),
                catalog.splitlines(keepends=True),
                "catalog.json (on disk)",
                "catalog.json (as planned from torch and the routes)",
                n=0,
            )
        )
        print(f"catalog.json is not what torch and generator/routes/ give. {MEND}")
        status = 1
    if status == 0:
        print("no drift: catalog.json is what torch and the routes give, generated/ what it gives")
    return status


def _render_only(*, check: bool) -> int:
    from generator.render.render import render
    from generator.render.writer import compare, write_tree

    files = render(catalog_file.read(paths.CATALOG), paths.TEMPLATES)
    if not check:
        changed, deleted = write_tree(paths.GENERATED, files)
        print(f"generated/: {len(files)} files, {changed} written, {deleted} deleted")
        return 0
    diff = list(compare(paths.GENERATED, files))
    sys.stdout.writelines(diff)
    if diff:
        print(f"generated/ is not what catalog.json gives. {MEND} --render-only")
    return 1 if diff else 0


if __name__ == "__main__":
    leave(main())
