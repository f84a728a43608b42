"""Compiles source to code: rewritten, with the places of the source, remembered for the next start."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from types import CodeType

from tdev_core.run.cache import CodeCache
from tdev_core.run.instrumentation import instrument, may_need_it
from tdev_core.run.standing import have_it_ask, may_import

Finish = Callable[[ast.Module, bytes, str], None]
"""Changes a tree in place before it is compiled, given the source's bytes and path."""


class Compiler:
    """Compiles modules as if the codemod had rewritten them in style ``alias``."""

    def __init__(self, cache: CodeCache, finish: Finish | None = None) -> None:
        self._cache = cache
        self._finish = finish

    def code(self, source: bytes, path: str) -> CodeType:
        """Return the code for the file ``path`` that holds ``source``.

        Raises ``SyntaxError`` about the source itself, as Python does.
        """
        known = self._cache.get(path, source)
        if known is not None:
            return known
        # Only now: a program whose code is remembered needs neither the rules nor libcst.
        from tdev_core.run.rewriting import rewritten_tree

        tree, final, unknown = rewritten_tree(source, path)
        tree = _instrumented(tree, source, path, unknown)
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


def _instrumented(
    tree: ast.Module | None, source: bytes, path: str, unknown: Collection[tuple[int, int]]
) -> ast.Module | None:
    """Return the module with what only its run can know answered at run time; None as it came."""
    imports = may_import(source)
    if not unknown and not imports and not may_need_it(source):
        return tree
    try:
        asking = ast.parse(source, path) if tree is None else tree
    except (SyntaxError, ValueError, RecursionError):
        return None  # compiling the source says so, in Python's own words
    asks = imports and have_it_ask(asking)
    return asking if instrument(asking, unknown) or asks else tree
