"""Turns one file's bytes into its outcome: read as what it is, rewritten, and checked before it is believed.

A result that fails the check is an error of ours, and the file stays as it is.
"""

from __future__ import annotations

import ast
import importlib
from dataclasses import dataclass, replace
from typing import Protocol, cast

from tdev_core.codemod.embedded.docs_fences import rewrite_document
from tdev_core.codemod.embedded.doctests import doctests
from tdev_core.codemod.embedded.notebooks import rewrite_notebook
from tdev_core.codemod.embedded.others import look
from tdev_core.codemod.embedded.segments import Rewrite
from tdev_core.codemod.engine import Names, Options, Result, SyntaxError_
from tdev_core.codemod.errors import Unreadable
from tdev_core.codemod.model import Kind, Outcome, Status
from tdev_core.codemod.records import change, remark, resting
from tdev_core.codemod.text import decode_python, lines
from tdev_core.codemod.verify import check

ENGINE = "tdev_core.codemod.engine"
"""The module with ``Names``, ``may_concern`` and ``rewrite``; tests put a smaller one in its place."""


class Engine(Protocol):
    """The part of the engine's module that is used."""

    def may_concern(self, raw: bytes) -> bool:
        """False when no rule could change or report a file of these bytes."""
        ...

    def rewrite(self, source: str, names: Names, options: Options, *, filename: str) -> Result:
        """Apply every rule to one text."""
        ...


@dataclass(frozen=True)
class Job:
    """One file for a worker: its bytes, how to read them, and how it is called in messages."""

    path: str
    kind: Kind
    raw: bytes
    options: Options


def load_engine(name: str) -> Engine:
    """Return the engine's module."""
    return cast(Engine, importlib.import_module(name))


def process(job: Job, engine: Engine, names: Names) -> Outcome:
    """Rewrite one file; never raises for what is wrong with the file or with the engine."""

    def rewrite(source: str, /, *, beside: str = "") -> Result:
        options = replace(job.options, beside=beside) if beside else job.options
        result = engine.rewrite(source, names, options, filename=job.path)
        check(source, result)
        return result

    try:
        match job.kind:
            case Kind.PYTHON:
                return _python(job.raw, rewrite, job.options.docs)
            case Kind.NOTEBOOK:
                return rewrite_notebook(job.raw, rewrite)
            case Kind.DOCS:
                return rewrite_document(job.raw, rewrite)
            case Kind.OTHER:
                return look(job.raw)
    except Unreadable as error:
        return Outcome(Status.ERROR, f"left alone: {error}")
    except SyntaxError_ as error:
        return Outcome(Status.ERROR, f"left alone: it is not Python 3 ({_in_words(job, error)})")
    except (RecursionError, MemoryError) as error:
        return Outcome(Status.ERROR, f"left alone: too deeply nested or too large ({error!r})")
    except Exception as error:  # one file must never end the run
        return Outcome(
            Status.ERROR,
            f"left alone: the codemod failed on it ({type(error).__name__}: {error}); please report it",
        )


def _in_words(job: Job, error: SyntaxError_) -> str:
    """Say where and why a file does not parse, in Python's words where it finds the same fault.

    The parser's own words are a list of every token that could have come instead.
    """
    if job.kind is Kind.PYTHON:
        try:
            ast.parse(decode_python(job.raw).code)
        except SyntaxError as own:
            return f"line {own.lineno}, column {own.offset}: {own.msg}"
        except (ValueError, RecursionError, MemoryError):
            pass
    said = error.message.partition(": expected one of")[0]
    return f"line {error.line}, column {error.column}: {said}"


def _python(raw: bytes, rewrite: Rewrite, docs: bool) -> Outcome:
    text = decode_python(raw)
    result = rewrite(text.code)
    rows = lines(text.code) if result.findings or result.edits else []
    remarks = tuple(remark(finding, rows) for finding in result.findings)
    if docs:
        remarks += tuple(doctests(text.code))
    if result.code == text.code:
        return Outcome(Status.UNCHANGED, remarks=remarks)
    changes = tuple(change(edit, rows) for edit in result.edits)
    return Outcome(
        Status.CHANGED,
        new=text.encode(result.code),
        changes=changes,
        remarks=remarks,
        resting=resting(result.resting, rows),
    )
