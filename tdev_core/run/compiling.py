"""Source to code: rewritten, with the places of the source, remembered for the next start."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING

from tdev_core.run import alike
from tdev_core.run.cache import CodeCache

if TYPE_CHECKING:
    from tdev_core.codemod.engine.api import Names, Result

Finish = Callable[[ast.Module, bytes, str], None]
"""Changes a tree in place before it is compiled, given the source's bytes and path."""


class Compiler:
    """Compiles modules as if the codemod had rewritten them in style ``alias``."""

    def __init__(self, cache: CodeCache, finish: Finish | None = None) -> None:
        self._cache = cache
        self._finish = finish

    def code(self, source: bytes, path: str) -> CodeType:
        """The code for the file ``path`` that holds ``source``.

        Raises ``SyntaxError`` about the source itself, as Python does.
        """
        known = self._cache.get(path, source)
        if known is not None:
            return known
        tree, final, unknown = rewritten_tree(source, path)
        tree = _asking(tree, source, path, unknown)
        if self._finish is None and tree is None:
            code: CodeType = compile(source, path, "exec", dont_inherit=True)
        else:
            tree = tree or ast.parse(source, path)
            if self._finish is not None:
                self._finish(tree, source, path)
            code = compile(tree, path, "exec", dont_inherit=True)
        if final:
            self._cache.put(path, source, code)
        return code


Places = frozenset[tuple[int, int]]
"""Lines and columns of a source, as :mod:`ast` counts them."""

_NOWHERE: Places = frozenset()


def rewritten_tree(source: bytes, path: str) -> tuple[ast.Module | None, bool, Places]:
    """The rewritten module at the source's places, or None where the source runs as it is.

    The second value says whether that is the rules' answer, to be remembered, or their failure; the
    third where an ``is_cuda`` is asked of something that the rules do not know.

    A source that the rules fail on runs as it is, and standard error says so: it will meet CUDA's
    absence by itself.
    """
    from tdev_core.codemod.engine.api import Options, SyntaxError_, may_concern, rewrite
    from tdev_core.codemod.errors import Unreadable
    from tdev_core.codemod.process import BadRewrite, check
    from tdev_core.codemod.text import decode_python

    if not may_concern(source):
        return None, True, _NOWHERE
    try:
        text = decode_python(source)
        result = rewrite(text.code, _names(), Options(style="alias"), filename=path)
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
    from tdev_core.run.positions import Origin

    Origin(text.code, result.code, result.edits).relocate(tree)
    return tree, True, unknown


def _unknown(source: str, result: Result) -> Places:
    """Where the source asks ``is_cuda`` of what may be a tensor."""
    from tdev_core.codemod.engine.rules.is_cuda import IS_CUDA, OF_UNKNOWN
    from tdev_core.codemod.text import lines

    found = [
        finding
        for finding in result.findings
        if finding.rule == IS_CUDA.id and finding.message.startswith(OF_UNKNOWN)
    ]
    texts = lines(source) if found else []
    return frozenset((f.line, len(texts[f.line - 1][: f.column - 1].encode())) for f in found)


def _asking(
    tree: ast.Module | None, source: bytes, path: str, unknown: Places
) -> ast.Module | None:
    """The module with what only its run can know answered at run time; None as it came."""
    if not unknown and not alike.may_compare(source):
        return tree
    try:
        asking = ast.parse(source, path) if tree is None else tree
    except (SyntaxError, ValueError, RecursionError):
        return None  # compiling the source says so, in Python's own words
    return asking if alike.answer(asking, unknown) else tree


def _warn(path: str, why: str) -> None:
    print(f"tdev run: {path} runs as it is, the rules failed on it ({why})", file=sys.stderr)


def _names() -> Names:
    from tdev_core.codemod.engine.api import Names

    return Names.load()
