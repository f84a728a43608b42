"""``python -m tdev run``: an untouched script runs as if it had been migrated.

The codemod's rules (style ``alias``) are applied when the script and the modules beside it are
imported. Nothing is written beside the source, and line numbers stay those of the source. Imports the
codemod (``engine``, ``verify``, ``text``), caches, backends and devices; the command line and the
pytest plugin import it.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run ``[options] script.py [args …]`` or ``[options] -m module [args …]``.

    Returns the exit status where the program ended by itself or by an exception that was printed;
    its ``SystemExit`` passes through.
    """
    # Rewritten modules import this package for its comparisons, and never need the command line.
    from tdev_core.run.cli import main as run

    return run(argv)
