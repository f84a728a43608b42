"""``python -m tdev.codemod``: the command line of the codemod.

Exit status:

- 0: nothing to do and nothing to look at (a run that rewrote everything it found included);
- 1: with ``--check`` or ``--diff`` a file would change, or, in any run, a finding is left that is
  more than a note;
- 2: an error: bad arguments or configuration, a file that could not be read, parsed or written;
- 130: interrupted (143: terminated); every file is either its old or its new self.

Standard output carries the result (the findings, the diff, or the report), standard error the rest.

``--version``, ``--explain`` and ``--help`` answer at once: everything else is imported where it is needed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.output.console import err

ENGINE = "tdev_core.codemod.engine"


def main(argv: Sequence[str] | None = None, *, engine: str = ENGINE) -> int:
    """Run the command line and return its exit status; ``engine`` names the module that rewrites."""
    try:
        arguments = _parser().parse_args(argv)
        from tdev_core.codemod.command import run

        return run(arguments, engine)
    except UsageError as error:
        err(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        err("interrupted.")
        return 130
    except BrokenPipeError:
        # Whoever read standard output has gone (`| head`). What is left must not be flushed to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from tdev_core.codemod.output.about import version

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"tdev codemod {version()} (Python {python})")
        parser.exit()


class _Explain(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, _: object, rule: object, *__: object
    ) -> None:
        from tdev_core.codemod.output import about, console

        console.out(about.explain(str(rule)).rstrip("\n"))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tdev.codemod",
        description="Rewrite CUDA-only PyTorch code so that it runs on any device.",
        epilog="Exit status: 0 clean, 1 something to do or to look at, 2 error, 130 interrupted, 143 terminated.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="files, or directories to be searched")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    mode.add_argument(
        "--check", action="store_true", help="write nothing; name each CUDA-only use (a linter)"
    )
    mode.add_argument(
        "--interactive",
        "-i",
        action="store_true",
        help="ask about each hunk; what is declined gets '# tdev: keep', or is listed in --baseline FILE",
    )
    add(
        "--style",
        choices=("explicit", "alias"),
        help="explicit (default): torch.cuda.X becomes tdev.cuda.X; alias: import tdev as torch",
    )
    add(
        "--target",
        choices=("tdev", "accelerator"),
        help="what the result calls: tdev (default), or torch's own torch.accelerator",
    )
    add(
        "--annotate", action="store_true", default=None, help="leave '# tdev:' comments at findings"
    )
    add("--docs", action="store_true", default=None, help="also Python in .md and .rst files")
    add(
        "--all",
        action="store_true",
        default=None,
        help="also files that cannot be imported without CUDA: they import cupy, apex or the like",
    )
    add(
        "--tests",
        action="store_true",
        default=None,
        help="also the project's tests, which are else left as they are: tdev.pytest_plugin runs them",
    )
    add(
        "--partial",
        action="store_true",
        default=None,
        help="also projects of which too much would stay CUDA's, which are else left as they are",
    )
    add(
        "--include",
        action="append",
        metavar="GLOB",
        help="look only at matching files (as in .gitignore; may be repeated)",
    )
    add("--exclude", action="append", metavar="GLOB", help="leave matching files out (repeatable)")
    judged = parser.add_mutually_exclusive_group()
    judged.add_argument(
        "--since", metavar="REF", help="with --check: only lines added since this git ref"
    )
    judged.add_argument(
        "--baseline",
        metavar="FILE",
        help="with --check: only what this file does not list; with --interactive: where declined hunks are listed",
    )
    judged.add_argument(
        "--write-baseline", metavar="FILE", help="with --check: list in this file what there is now"
    )
    add("--force", action="store_true", help="write even where git has uncommitted changes")
    add(
        "--format",
        choices=("text", "github"),
        default="text",
        help="how findings are printed: text (default), or annotations of a GitHub workflow",
    )
    add("--report", choices=("json", "sarif", "markdown"), help="print a report in this format")
    add("--output", metavar="FILE", help="write the report to this file instead")
    add("--config", metavar="FILE", help="read [tool.tdev] from this file")
    add(
        "--jobs",
        "-j",
        type=int,
        metavar="N",
        help="worker processes (default: as many as there is work and processors for)",
    )
    add("--quiet", "-q", action="store_true", help="print results only")
    add("--explain", metavar="RULE", action=_Explain, help="print the page of a rule")
    add("--verbose", "-v", action="store_true", help="list every finding, however many there are")
    add("--version", action=_Version, nargs=0, help="print the version")
    return parser
