"""Runs the rules over one file and joins what they say."""

from __future__ import annotations

from tdev_core.codemod.engine.api import Names, Options, Result
from tdev_core.codemod.engine.triage import worth_a_look


def run(source: str, names: Names, options: Options, filename: str) -> Result:
    """See :func:`tdev_core.codemod.engine.api.rewrite`."""
    if not worth_a_look(source, options.style):
        return Result(source)
    from tdev_core.codemod.engine.annotate import annotate
    from tdev_core.codemod.engine.file import File
    from tdev_core.codemod.engine.rules import passes

    file = File(source, names, options, filename)
    if file.keep_all:
        return Result(source)
    for rule in passes(options.style):
        rule(file)
    if options.annotate:
        annotate(file)
    return file.result()
