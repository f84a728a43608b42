"""Write ``names.json`` of the codemod's engine: the facts about torch that it needs.

The codemod runs where torch is not installed, so what it has to know (which names depend on the device, which
parameters are devices) is read here, at development time, from the installed torch, and checked in.
Deterministic: sorted, no clock, no paths, the version without its local part.

    python -m generator.codemod            # write
    python -m generator.codemod --check    # exit 1 and print the diff if it is stale
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from generator import paths
from generator.codemod.names import collect

TARGET = paths.CORE / "codemod" / "engine" / "names.json"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m generator.codemod", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="exit 1 if the file is stale")
    args = parser.parse_args(argv)
    text = json.dumps(collect(), indent=1, sort_keys=True) + "\n"
    old = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    if text == old:
        return 0
    if args.check:
        sys.stdout.writelines(
            difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), TARGET.name, "fresh", n=0
            )
        )
        print(f"{TARGET.name} is stale; run: python -m generator.codemod")
        return 1
    TARGET.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
