"""``python -m tdev.codemod``: the command line of the codemod.

Exit status:

- 0: nothing to do and nothing to look at (a run that rewrote everything it found included);
- 1: with ``--check`` or ``--diff`` a file would change, or, in any run, a finding is left that is
  more than a note;
- 2: an error: bad arguments or configuration, a file that could not be read, parsed or written;
- 130: interrupted; every file is either its old or its new self.

Standard output carries the result (the findings, the diff, or the report), standard error the rest.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.codemod.errors import UsageError

if TYPE_CHECKING:
    from tdev_core.codemod.config import Settings
    from tdev_core.codemod.files import Found
    from tdev_core.codemod.model import FileResult
    from tdev_core.codemod.summary import Summary

ENGINE = "tdev_core.codemod.engine.api"


def main(argv: Sequence[str] | None = None, *, engine: str = ENGINE) -> int:
    """Run the command line and return its exit status; ``engine`` names the module that rewrites."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    # Only now: --version and --help answer without loading any of it.
    from tdev_core.codemod.console import err

    try:
        return _run(arguments, engine)
    except UsageError as error:
        err(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        err("interrupted before anything was written.")
        return 130
    except BrokenPipeError:
        # Whoever read standard output has gone (`| head`). What is left must not be flushed to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from tdev_core.codemod.about import version

        python = ".".join(map(str, sys.version_info[:3]))
        print(f"tdev codemod {version()} (Python {python})")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tdev.codemod",
        description="Rewrite CUDA-only PyTorch code so that it runs on any device.",
        epilog="Exit status: 0 clean, 1 something to do or to look at, 2 error, 130 interrupted.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("paths", nargs="+", metavar="PATH", help="files, or directories to be searched")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    mode.add_argument(
        "--check", action="store_true", help="write nothing; name each CUDA-only use (a linter)"
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
        "--include",
        action="append",
        metavar="GLOB",
        help="look only at matching files (as in .gitignore; may be repeated)",
    )
    add("--exclude", action="append", metavar="GLOB", help="leave matching files out (repeatable)")
    add("--force", action="store_true", help="write even where git has uncommitted changes")
    add("--report", choices=("json", "sarif", "markdown"), help="print a report in this format")
    add("--output", metavar="FILE", help="write the report to this file instead")
    add("--config", metavar="FILE", help="read [tool.tdev] from this file")
    add("--jobs", "-j", type=int, metavar="N", help="worker processes (default: one per processor)")
    add("--quiet", "-q", action="store_true", help="print results only")
    add("--version", action=_Version, nargs=0, help="print the version")
    return parser


def _run(arguments: argparse.Namespace, engine: str) -> int:
    from tdev_core.codemod.console import err, progress
    from tdev_core.codemod.files import discover
    from tdev_core.codemod.runner import Plan, run
    from tdev_core.codemod.summary import Summary

    _require("libcst", "pathspec")
    if arguments.output and not arguments.report:
        raise UsageError("--output says where a report goes; choose one with --report")
    if arguments.report and arguments.diff and not arguments.output:
        raise UsageError("--diff and --report both print; give the report a file with --output")
    if arguments.output and not Path(arguments.output).absolute().parent.is_dir():
        raise UsageError(f"--output {arguments.output}: its directory does not exist")
    settings = _settings(arguments)
    files = discover(arguments.paths, settings)
    writes = not (arguments.check or arguments.diff)
    if writes and not arguments.force:
        _refuse_uncommitted(files, arguments.paths)
    plan = Plan(settings, write=writes, keep_bytes=arguments.diff, engine=engine)
    summary = Summary(writes)
    kept: list[FileResult] = []
    with progress(len(files), arguments.quiet) as seen, closing(run(files, plan, seen)) as results:
        try:
            for result in results:
                summary.add(result)
                _tell(result, arguments)
                if arguments.report:
                    kept.append(result.light())
        except KeyboardInterrupt:
            summary.interrupted = True
    if arguments.report:
        _report(arguments, kept, summary)
    if not arguments.quiet:
        err(summary.table())
    return summary.exit_status


def _require(*modules: str) -> None:
    """Say how to install what a plain installation of tdev leaves out."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise UsageError(
            f"the codemod needs {' and '.join(missing)}, which this Python ({sys.executable}) "
            "does not have: pip install 'tdev[codemod]'"
        )


def _settings(arguments: argparse.Namespace) -> Settings:
    from tdev_core.codemod.config import Settings, find_config, overlay, read_config

    if arguments.jobs is not None and arguments.jobs < 1:
        raise UsageError(f"--jobs is at least 1, not {arguments.jobs}")
    if arguments.config:
        settings = read_config(Path(arguments.config), required=True)
    else:
        file = find_config([Path(path) for path in arguments.paths])
        settings = read_config(file) if file else Settings(base=Path.cwd().resolve())
    given = dict(vars(arguments))
    for key in ("include", "exclude"):
        given[key] = None if given[key] is None else tuple(given[key])
    return overlay(settings, given)


def _refuse_uncommitted(files: Sequence[Found], paths: Sequence[str]) -> None:
    from tdev_core.codemod import git
    from tdev_core.codemod.runner import selected

    advice = "commit or stash first, look with --diff, or pass --force"
    try:
        dirty = git.uncommitted(selected(files), [Path(path).resolve() for path in paths])
    except git.Unknown as error:
        raise UsageError(
            f"{error}; so it cannot be seen whether anything is uncommitted: {advice}"
        ) from None
    if dirty:
        names = "".join(f"\n  {name}" for name in dirty[:10])
        more = f"\n  and {len(dirty) - 10} more" if len(dirty) > 10 else ""
        raise UsageError(
            "the git work tree has uncommitted changes, which a rewrite would be mixed up with:"
            f"{names}{more}\n{advice}"
        )


def _tell(result: FileResult, arguments: argparse.Namespace) -> None:
    """Say what there is to say about one file, now that its turn has come."""
    from tdev_core.codemod import console
    from tdev_core.codemod.model import Status
    from tdev_core.codemod.reports import line

    outcome = result.outcome
    if result.status is Status.ERROR or (result.status is Status.SKIPPED and not arguments.quiet):
        console.err(f"{result.path}: {outcome.message}")
    if arguments.diff and outcome.new is not None and result.old is not None:
        from tdev_core.codemod.diff import unified

        console.out_bytes(unified(result.path, result.old, outcome.new))
    say = console.out
    if arguments.diff or (arguments.report and not arguments.output):
        say = console.err  # standard output is the patch, or the report
    if arguments.report and not arguments.output:
        return
    for item in result.items(changes=arguments.check):
        say(line(result.path, item))
    if result.status is Status.CHANGED and not arguments.quiet and not arguments.check:
        console.err(f"{'would rewrite' if arguments.diff else 'rewrote'} {result.path}")


def _report(arguments: argparse.Namespace, results: Sequence[FileResult], summary: Summary) -> None:
    from tdev_core.codemod.console import out_bytes
    from tdev_core.codemod.reports import render

    raw = render(arguments.report, results, summary).encode("utf-8", "backslashreplace")
    if not arguments.output:
        out_bytes(raw)
        return
    try:
        Path(arguments.output).write_bytes(raw)
    except OSError as error:
        raise UsageError(f"--output {arguments.output}: {error.strerror or error}") from None
