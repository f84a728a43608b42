"""Hooks ``compile`` for files of the program that some other module compiles or loads by path.

A debugger, a profiler, ``coverage`` and ``runpy.run_path`` read the script and call ``compile``
themselves; plug-in systems make a loader for a path. Both end in one of two places, and there the
rewritten code is given out. What is compiled under a file's name but is not that file's text (a
template, a notebook cell) stays as it is.
"""

from __future__ import annotations
import __future__ as _futures

import builtins
import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import decode_source
from types import CodeType
from typing import Any

from tdev_core.run import compiling
from tdev_core.run.roots import OWN, Roots

_FLAGS = sum(getattr(_futures, name).compiler_flag for name in _futures.all_feature_names)
# What the import system compiles goes into __pycache__, which other programs read.
_LEFT = ("<frozen importlib", compiling.__file__)


def install(roots: Roots, compiler: compiling.Compiler) -> None:
    """Give out rewritten code for files below ``roots``, once in a process."""
    plain = builtins.compile
    if getattr(plain, "__module__", "") == __name__:
        return
    load = SourceFileLoader.get_code

    def compile(
        source: Any,
        filename: Any,
        mode: str,
        flags: int = 0,
        dont_inherit: bool = False,
        optimize: int = -1,
        **more: Any,
    ) -> Any:
        caller = sys._getframe(1).f_code
        if mode == "exec" and not flags and not caller.co_filename.startswith(_LEFT):
            file = _file_of(source, filename, roots)
            if file is not None:
                path, data = file
                return compiler.code(data, path)
        if not dont_inherit:
            flags |= caller.co_flags & _FLAGS  # the caller's, which are ours to hand on
        return plain(source, filename, mode, flags, True, optimize, **more)

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if type(self) is SourceFileLoader and fullname.partition(".")[0] not in OWN:
            path = self.get_filename(fullname)
            if roots.cover(path):
                return compiler.code(self.get_data(path), path)
        return load(self, fullname)

    builtins.compile = compile
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def _file_of(source: Any, filename: Any, roots: Roots) -> tuple[str, bytes] | None:
    """Return the path and bytes of the program's file whose whole text ``source`` is, else None."""
    if not isinstance(source, (str, bytes, bytearray)) or not isinstance(
        filename, (str, bytes, os.PathLike)
    ):
        return None
    path = os.fsdecode(filename)
    if path.startswith("<") or not os.path.isfile(path) or not roots.cover(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    if source == data:
        return path, data
    try:
        # Whoever reads it as text has other newlines, and may have added the last one.
        given = source if isinstance(source, str) else decode_source(source)
        same = given.rstrip("\n") == decode_source(data).rstrip("\n")
    except (SyntaxError, UnicodeDecodeError):
        return None
    return (path, data) if same else None
