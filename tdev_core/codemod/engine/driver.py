"""Runs the rules over one file and joins what they say: the engine's one function, :func:`rewrite`."""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from tdev_core.codemod.engine.api import Names, Options, Result, SyntaxError_, WholeTextNeeded
from tdev_core.codemod.engine.python.collector import without_collector
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.tree import tree_kept
from tdev_core.codemod.engine.rules.tests_stay import has_to_follow, listed
from tdev_core.codemod.engine.survey import is_of_cuda
from tdev_core.codemod.engine.triage.concern import concern
from tdev_core.codemod.engine.vocabulary import DOUBLE, MADE_DOUBLE


def rewrite(source: str, names: Names, options: Options, *, filename: str = "<string>") -> Result:
    """Apply every rule to one file's text.

    ``source`` must keep its own newlines (decode with ``newline=""``). Raises
    :class:`SyntaxError_` for text that does not parse.
    """
    with without_collector(), tree_kept():
        if options.test:
            return _of_a_test(source, names, options, filename)
        known = Known.of(options.tree) if options.tree is not None else None
        if concern(source, options.style, known) == "no" and not (
            _inherits_a_word(source, options)
            or _may_be_in_double(source, options, filename)
            or _is_given_a_choice(source, options)
        ):
            return Result(source)
        try:
            return apply_rules(source, names, options, filename, whole=False)
        except (WholeTextNeeded, SyntaxError_):
            pass
        gc.collect()  # one tree at a time: they are large
        return apply_rules(source, names, options, filename, whole=True)


def _of_a_test(source: str, names: Names, options: Options, filename: str) -> Result:
    """Leave a test as it is but for what it patches, and list where it names CUDA."""
    result = Result(source)
    if has_to_follow(source):
        result = apply_rules(source, names, options, filename, whole=True)
    findings = (*result.findings, *listed(source, result))
    return replace(result, findings=tuple(sorted(findings, key=lambda f: (f.line, f.column))))


def _may_be_in_double(source: str, options: Options, filename: str) -> bool:
    """Tell whether a file that names no device of its own may compute in double precision on that of a package which names CUDA."""
    if options.style == "accelerator":
        return False
    if DOUBLE.search(source) is None and MADE_DOUBLE.search(source) is None:
        return False
    return is_of_cuda(options.tree, filename)


def _is_given_a_choice(source: str, options: Options) -> bool:
    """Tell whether a file may hand what another one chooses to a package which knows CUDA and the CPU alone."""
    names = options.tree.cuda_choosers if options.tree is not None else ()
    return options.style != "accelerator" and any(f"{name}(" in source for name in names)


_CLASS = re.compile(r"\nclass[ \t]+(\w+)")
_OWN_DEVICE = re.compile(r"\bdevice(?:_type)?[ \t]*=[ \t]*(?:str\()?self\.(\w*device)\b")


def _inherits_a_word(source: str, options: Options) -> bool:
    """Tell whether a class gives torch a device that a base class in another file holds a word in."""
    words = options.tree.word_devices if options.tree is not None else frozenset()
    if options.style == "accelerator" or "device" not in source:
        return False
    classes = _classes_of(words).intersection(_CLASS.findall("\n" + source))
    own = set(_OWN_DEVICE.findall(source)) if classes else ()
    return any(f"{name}.{attr}" in words for name in classes for attr in own)


@lru_cache(maxsize=4)
def _classes_of(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word.partition(".")[0] for word in words)


def apply_rules(
    source: str,
    names: Names,
    options: Options,
    filename: str,
    whole: bool,
    behind: Mapping[tuple[int, int], str] | None = None,
) -> Result:
    """Apply the rules to the whole text, or to a slice of it that gives the same result.

    ``behind`` is what an earlier look has found to be reached from nothing but what stays.
    Raises :class:`WholeTextNeeded` where a rule asks about what is not in the slice.
    """
    # libcst takes longer to import than most files take: who only asks `may_concern` never needs it.
    from tdev_core.codemod.engine.annotate import annotate
    from tdev_core.codemod.engine.file import File
    from tdev_core.codemod.engine.registry import OF_TESTS, passes
    from tdev_core.codemod.engine.rules.accelerator.torchs_own import (
        plan_torchs_own,
        report_torchs_own,
    )
    from tdev_core.codemod.engine.rules.behind_what_stays import leave_them
    from tdev_core.codemod.engine.rules.kept_questions import is_rebound, needs_torchs_name
    from tdev_core.codemod.engine.rules.kernels import runs_on_cuda_alone
    from tdev_core.codemod.engine.rules.stand_ins import know_answered
    from tdev_core.codemod.engine.rules.whole_files import is_mostly_kernels, stays_whole

    file = File(source, names, options, filename, whole)
    if file.keep_all:
        return Result(source)
    know_answered(file)
    found = plan_torchs_own(file)
    if options.test:
        for rule in OF_TESTS:
            rule(file)
    elif runs_on_cuda_alone(file) or stays_whole(file):
        file.changes.clear()
    else:
        leave_them(file, behind or {})
        for rule in passes(options.style):
            rule(file)
        if file.behind:
            file.scopes.forget()
            known = {**(behind or {}), **file.behind}
            return apply_rules(source, names, options, filename, whole, known)
        if options.style == "alias" and (
            is_rebound(file) or not options.program and needs_torchs_name(file)
        ):
            # A question that stays CUDA's is asked of torch, so torch keeps its name here; or gets it back.
            file.scopes.forget()
            explicit = replace(options, style="explicit")
            return apply_rules(source, names, explicit, filename, whole, behind)
        if is_mostly_kernels(file):
            file.changes.clear()
    report_torchs_own(file, found)
    if options.annotate:
        annotate(file)
    result = file.result()
    file.scopes.forget()
    return result
