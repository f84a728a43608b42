"""Write ``docs/codemod``, ``docs/errors`` and ``docs/packages``.

python -m tools.pages            # write
python -m tools.pages --check    # exit 1 and print the diff if a page is stale
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generator.render.writer import compare, write_tree
from tools.pages import codemod, errors, packages

COMMAND = "python -m tools.pages"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog=COMMAND, description=about)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    check = parser.parse_args(argv).check
    made = [(one.TARGET, one.pages(COMMAND)) for one in (codemod, errors, packages)]
    return max([(_check if check else _write)(folder, pages) for folder, pages in made])


def _write(folder: Path, pages: dict[str, str]) -> int:
    """Make ``folder`` hold exactly ``pages``, text by file name."""
    written, deleted = write_tree(folder, pages)
    print(f"{folder.name}/: {len(pages)} pages, {written} written, {deleted} deleted")
    return 0


def _check(folder: Path, pages: dict[str, str]) -> int:
    diff = list(compare(folder, pages))
    sys.stdout.writelines(diff)
    if diff:
        print(f"{folder.name}/ is stale; run: {COMMAND}")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
