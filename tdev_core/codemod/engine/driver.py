"""Runs the rules over one file and joins what they say."""

from __future__ import annotations

import gc

from tdev_core.codemod.engine.api import Names, Options, Result, SyntaxError_, WholeTextNeeded
from tdev_core.codemod.engine.triage import concern


def run(source: str, names: Names, options: Options, filename: str) -> Result:
    """See :func:`tdev_core.codemod.engine.api.rewrite`."""
    if concern(source, options.style) == "no":
        return Result(source)
    # A file's tree is a million objects that all stay until the end: nothing for the collector,
    # which would walk them again and again.
    collecting = gc.isenabled()
    gc.disable()
    try:
        try:
            return _rules(source, names, options, filename, whole=False)
        except (WholeTextNeeded, SyntaxError_):
            pass
        gc.collect()  # one tree at a time: they are large
        return _rules(source, names, options, filename, whole=True)
    finally:
        if collecting:
            gc.enable()


def _rules(source: str, names: Names, options: Options, filename: str, whole: bool) -> Result:
    from tdev_core.codemod.engine.annotate import annotate
    from tdev_core.codemod.engine.file import File
    from tdev_core.codemod.engine.rules import passes

    file = File(source, names, options, filename, whole)
    if file.keep_all:
        return Result(source)
    for rule in passes(options.style):
        rule(file)
    if options.annotate:
        annotate(file)
    result = file.result()
    file.scopes.forget()
    return result
