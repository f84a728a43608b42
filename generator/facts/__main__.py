"""``python -m generator.facts``: read the facts and print what was found, or record those of another torch."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from generator.facts.cache import introspect
from generator.facts.elsewhere import record
from generator.facts.model import Facts
from generator.facts.pin import FactsError
from generator.facts.report import counts, progress_bar


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a summary of the installed torch; 2 where there are no facts to be had, 130 where Ctrl-C ends it."""
    parser = argparse.ArgumentParser(prog="python -m generator.facts", description=__doc__)
    parser.add_argument(
        "--no-cache", action="store_true", help="read torch even if nothing changed"
    )
    parser.add_argument(
        "--allow-version", action="store_true", help="accept a torch that is not the pinned one"
    )
    parser.add_argument(
        "--differences", action="store_true", help="list what other builds would say differently"
    )
    parser.add_argument(
        "--torch", metavar="2.15.0", help="record what differs there, in an environment of its own"
    )
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        if options.torch:
            path = record(options.torch)
            print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
            return 0
        with progress_bar(sys.stderr) as progress:
            facts = introspect(
                progress, cache=not options.no_cache, allow_version=options.allow_version
            )
    except FactsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; nothing was recorded", file=sys.stderr)
        return 130
    _print(facts, time.perf_counter() - start)
    if options.differences:
        for line in facts.differences:
            print(f"- {line}")
    return 0


def _print(facts: Facts, seconds: float) -> None:
    for label, value in counts(facts).items():
        if isinstance(value, dict):
            value = ", ".join(f"{amount} {name}" for name, amount in value.items())
        print(f"{label + ':':<28}{value}")
    for name, reason in facts.skipped:
        print(f"{'not walked:':<28}{name} ({reason})")
    print(f"{'seconds:':<28}{seconds:.1f}")


if __name__ == "__main__":
    sys.exit(main())
