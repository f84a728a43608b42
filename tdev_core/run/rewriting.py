"""Rewrites a module's source by the codemod's rules, and gives the result the places of the source."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace

from tdev_core.codemod.engine import Names, Options, Result, SyntaxError_, may_concern, rewrite
from tdev_core.codemod.errors import Unreadable
from tdev_core.codemod.text import decode_python, lines
from tdev_core.codemod.verify import BadRewrite, check
from tdev_core.packages.interpreter import choosing
from tdev_core.run.positions import Origin

Places = frozenset[tuple[int, int]]
"""Lines and columns of a source, as :mod:`ast` counts them."""

_NOWHERE: Places = frozenset()
# No line is too long for Python: one that is broken up would be one edit, and all in it have the place of its start.
_OPTIONS = Options(style="alias", program=True, line_length=sys.maxsize)


def rewritten_tree(source: bytes, path: str) -> tuple[ast.Module | None, bool, Places]:
    """Return the rewritten module at the source's places, or None where the source runs as it is.

    The second value says whether that is the rules' answer, to be remembered, or their failure; the
    third where an ``is_cuda`` is asked of something that the rules do not know.

    A source that the rules fail on runs as it is, and standard error says so: it will meet CUDA's
    absence by itself.
    """
    if not may_concern(source):
        return None, True, _NOWHERE
    try:
        text = decode_python(source)
        options = replace(_OPTIONS, answered=choosing.answered())
        result = rewrite(text.code, Names.load(), options, filename=path)
        unknown = _unknown(text.code, result)
        if result.code == text.code:
            return None, True, unknown
        check(text.code, result)
        tree = ast.parse(result.code, path)
    except (Unreadable, SyntaxError_):
        return None, True, _NOWHERE  # Python says what is wrong with it, or takes it as it is
    except (BadRewrite, RecursionError) as error:
        _warn(path, str(error))
        return None, False, _NOWHERE
    except Exception as error:  # a fault of the rules must not keep a program from starting
        _warn(path, f"{type(error).__name__}: {error}")
        return None, False, _NOWHERE
    Origin(text.code, result.code, result.edits).relocate(tree)
    return tree, True, unknown


def _unknown(source: str, result: Result) -> Places:
    """Return the places where the source asks ``is_cuda`` of what may be a tensor."""
    found = [finding for finding in result.findings if finding.unknown]
    texts = lines(source) if found else []
    return frozenset((f.line, len(texts[f.line - 1][: f.column - 1].encode())) for f in found)


def _warn(path: str, why: str) -> None:
    print(f"tdev run: {path} runs as it is, the rules failed on it ({why})", file=sys.stderr)
