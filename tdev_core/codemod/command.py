"""Does what the command line of the codemod was asked for: one run over its files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.codemod.config import Settings, find_config, overlay, read_config
from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.files import git
from tdev_core.codemod.files.discovery import Found, discover
from tdev_core.codemod.files.project import names_torch_alone, refused_torch, torch_floor
from tdev_core.codemod.files.since import added
from tdev_core.codemod.files.write import Terminated, terminations
from tdev_core.codemod.jobs.runner import Plan, selected
from tdev_core.codemod.jobs.runner import run as results_of
from tdev_core.codemod.judging import Baseline, Since
from tdev_core.codemod.model import Change, FileResult, Remark, Status
from tdev_core.codemod.output.console import err, out, out_bytes, progress
from tdev_core.codemod.output.diff import unified
from tdev_core.codemod.output.folded import LISTED, Folded
from tdev_core.codemod.output.github import annotation
from tdev_core.codemod.output.reports import line, render
from tdev_core.codemod.output.summary import CLEAN, FAILED, INTERRUPTED, TERMINATED, Summary
from tdev_core.release import OLDEST

if TYPE_CHECKING:
    from tdev_core.codemod.interactive import Session


def run(arguments: argparse.Namespace, engine: str) -> int:
    """Do what the arguments say; return the exit status. ``engine`` names the module that rewrites."""
    _require("libcst", "pathspec")
    if arguments.output and not arguments.report:
        raise UsageError("--output says where a report goes; choose one with --report")
    if arguments.report and arguments.diff and not arguments.output:
        raise UsageError("--diff and --report both print; give the report a file with --output")
    if arguments.format == "github" and (
        arguments.diff or arguments.report and not arguments.output
    ):
        raise UsageError("--format github prints annotations; --diff and --report print as well")
    if arguments.output and not Path(arguments.output).absolute().parent.is_dir():
        raise UsageError(f"--output {arguments.output}: its directory does not exist")
    for option in ("since", "baseline", "write_baseline"):
        asks = arguments.interactive and option == "baseline"
        if getattr(arguments, option) is not None and not (arguments.check or asks):
            raise UsageError(f"--{option.replace('_', '-')} goes with --check, which judges")
    settings = _settings(arguments)
    files = discover(arguments.paths, settings)
    files, judge = (files, None) if arguments.interactive else _judge(arguments, files)
    writes = not (arguments.check or arguments.diff)
    if writes and not arguments.force:
        _refuse_uncommitted(files, arguments.paths)
    session = _session(arguments, files, settings, engine)
    plan = Plan(
        settings,
        write=writes and session is None,
        keep_bytes=arguments.diff or judge is not None or session is not None,
        engine=engine,
        directories=_judged_as_wholes(arguments, settings),
    )
    summary = Summary(writes)
    kept: list[FileResult] = []
    told = _Telling(arguments)
    with (
        terminations(),
        progress(len(files), arguments.quiet or session is not None) as seen,
        closing(results_of(files, plan, seen)) as results,
    ):
        try:
            for found, result in zip(files, results, strict=True):
                if judge is not None:
                    result = judge(result)
                if session is not None:
                    result = session.ask(found, result)
                summary.add(result)
                told.tell(result)
                if arguments.report:
                    kept.append(result.light())
        except Terminated:
            summary.interrupted = TERMINATED
        except KeyboardInterrupt:
            summary.interrupted = INTERRUPTED
    if session is not None:
        session.finish()
    folded = told.finish(writes)
    if settings.target == "accelerator" and not arguments.quiet:
        _say_floor(files, summary)
    if settings.target != "accelerator" and not arguments.quiet:
        _say_what_names_torch(files, summary)
    if arguments.report:
        _report(arguments, kept, summary)
    if arguments.write_baseline and not summary.interrupted:
        assert isinstance(judge, Baseline)
        count = judge.write(Path(arguments.write_baseline))
        err(f"{count:,} findings listed; --baseline {arguments.write_baseline} judges the others.")
        return FAILED if summary.files[Status.ERROR] else CLEAN
    if not arguments.quiet:
        err(summary.sentence() if folded else summary.table())
    return summary.exit_status


def _judged_as_wholes(arguments: argparse.Namespace, settings: Settings) -> tuple[Path, ...]:
    """Return the directories whose projects are judged as wholes; none where new lines are, or a person decides."""
    if settings.partial or arguments.interactive or arguments.since is not None:
        return ()
    return tuple(Path(path).resolve() for path in arguments.paths if os.path.isdir(path))


def _say_floor(files: Sequence[Found], summary: Summary) -> None:
    """Say which torch the rewritten files need, where the project says that it takes an older one."""
    if not summary.changes["accelerator"] or not files:
        return
    floor = torch_floor(files[0].path.absolute().parent)
    if floor is not None and floor[0] < (2, 6):
        (major, minor), said = floor
        err(
            f"torch.accelerator is of torch 2.6; {said} takes torch {major}.{minor}: raise that too."
        )


def _say_what_names_torch(files: Sequence[Found], summary: Summary) -> None:
    """Say where the project names torch, and has to name tdev beside it once its code imports that."""
    if not summary.changes["import"] and not summary.changes["tdev-import"] or not files:
        return
    required, sorted_by_name = names_torch_alone(files[0].path.absolute().parent)
    if required is not None:
        said = "requires torch; what is rewritten imports tdev: require that there, too."
        if old := refused_torch(required):
            said = (
                f"requires {old}; what is rewritten imports tdev, which needs torch {OLDEST[0]}.{OLDEST[1]} or newer: "
                "raise that first, and require tdev there, too."
            )
        err(f"{_from_here(required)} {said}")
    if sorted_by_name is not None:
        said = "names torch to sort imports by: to have tdev beside it, name that there, too, and sort."
        err(f"{_from_here(sorted_by_name)} {said}")


def _from_here(place: str) -> str:
    """Return a place as it is seen from the working directory, where it lies below that."""
    try:
        return str(Path(place).relative_to(Path.cwd()))
    except ValueError:
        return place


def _session(
    arguments: argparse.Namespace, files: list[Found], settings: Settings, engine: str
) -> Session | None:
    """Return who asks before anything is written, where that is wanted."""
    if not arguments.interactive:
        return None
    from tdev_core.codemod.interactive import Session

    baseline = arguments.baseline
    return Session(files, settings, engine, None if baseline is None else Path(baseline))


def _judge(
    arguments: argparse.Namespace, files: list[Found]
) -> tuple[list[Found], Callable[[FileResult], FileResult] | None]:
    """Return the files to look at and what is judged of their results; None: everything."""
    if arguments.since is not None:
        lines = added(selected(files, others=True), arguments.since)
        files = [found for found in files if found.path in lines or found.error]
        return files, Since({f.shown: lines[f.path] for f in files if not f.error})
    if arguments.baseline is not None:
        return files, Baseline.read(Path(arguments.baseline))
    if arguments.write_baseline is not None:
        return files, Baseline(Path(arguments.write_baseline).resolve().parent)
    return files, None


def _require(*modules: str) -> None:
    """Say how to install what a plain installation of tdev leaves out."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise UsageError(
            f"the codemod needs {' and '.join(missing)}, which this Python ({sys.executable}) "
            "does not have: pip install 'tdev[codemod]'"
        )


def _settings(arguments: argparse.Namespace) -> Settings:
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


class _Telling:
    """Says what there is to say about each file when its turn comes, and folds what is too much."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._github = arguments.format == "github"
        self._lists = arguments.verbose or self._github
        self._folded = Folded()
        self._lines: list[str] = []
        self._others: list[tuple[str, Change | Remark, str]] = []
        # Standard output may be the patch, or the report.
        taken = arguments.diff or (arguments.report and not arguments.output)
        self._say = err if taken else out
        # A report on standard output holds the findings; what is listed for a baseline is not told.
        self._silent = bool(arguments.report and not arguments.output or arguments.write_baseline)

    def tell(self, result: FileResult) -> None:
        """Say what there is to say about one file, now that its turn has come."""
        outcome, arguments = result.outcome, self._arguments
        if result.status is Status.ERROR or (
            result.status is Status.SKIPPED and not arguments.quiet
        ):
            err(f"{result.path}: {outcome.message}")
        if arguments.diff and outcome.new is not None and result.old is not None:
            out_bytes(unified(result.path, result.old, outcome.new))
        if self._silent:
            return
        for item in result.items(changes=arguments.check):
            if not result.other:
                self._folded.add(result.path, item)
            said = annotation(result.path, item) if self._github else line(result.path, item)
            if self._lists:
                self._say(said)
            elif result.other:
                self._others.append((result.path, item, said))
            elif self._folded.count <= LISTED:
                self._lines.append(said)
        if result.status is Status.CHANGED and not arguments.quiet and not arguments.check:
            err(f"{'would rewrite' if arguments.diff else 'rewrote'} {result.path}")

    def finish(self, wrote: bool) -> bool:
        """Say what was held back; return whether it was folded."""
        # Behind everything else; they alone are no cause to fold what a person has to act on.
        folded = self._folded.count > LISTED and not self._lists
        for path, item, _ in self._others:
            self._folded.add(path, item, other=True)
        if not folded and self._others:
            self._lines += [said for _, _, said in self._others[:LISTED]]
            if (rest := len(self._others) - LISTED) > 0:
                self._lines.append(
                    f"and {rest:,} more of these in other files; --verbose lists all"
                )
        for said in self._folded.lines(wrote, self._arguments.paths) if folded else self._lines:
            self._say(said)
        return folded


def _report(arguments: argparse.Namespace, results: Sequence[FileResult], summary: Summary) -> None:
    raw = render(arguments.report, results, summary, verbose=arguments.verbose).encode(
        "utf-8", "backslashreplace"
    )
    if not arguments.output:
        out_bytes(raw)
        return
    try:
        Path(arguments.output).write_bytes(raw)
    except OSError as error:
        raise UsageError(f"--output {arguments.output}: {error.strerror or error}") from None
