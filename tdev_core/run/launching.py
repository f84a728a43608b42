"""Sends Python programs that the program starts through the runner: launchers, and scripts that lie beside it.

``torchrun``, ``accelerate launch`` and the like start ``[sys.executable, "-u", "train.py", …]`` by
``subprocess``. Such a command goes through the runner too, if what it names is the program's own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from tdev_core.run.roots import Roots

# Options of the interpreter that are one letter each, and those that take the next word along.
_LETTERS = re.compile(r"-[A-VYZa-z]+\Z")
_WITH_VALUE = frozenset({"-W", "-X", "--check-hash-based-pycs"})


def install(roots: Roots, runner: Sequence[str]) -> None:
    """Put ``runner`` (``-m``, a module, options) into the commands of ``subprocess.Popen``."""
    plain = subprocess.Popen.__init__
    if getattr(plain, "__module__", "") == __name__:
        return

    def __init__(self: Any, args: Any, *rest: Any, **more: Any) -> None:
        plainly = not rest and not more.get("shell") and more.get("executable") is None
        if plainly and _finds_the_same(more.get("env")):
            args = through(
                args, runner, roots, more.get("cwd"), _is_programs(sys._getframe(1), roots)
            )
        plain(self, args, *rest, **more)

    popen: Any = subprocess.Popen
    popen.__init__ = __init__
    popen.__init__.tdev_original = plain


def uninstall() -> None:
    """Undo :func:`install`."""
    popen: Any = subprocess.Popen
    popen.__init__ = getattr(popen.__init__, "tdev_original", popen.__init__)


def _is_programs(frame: FrameType | None, roots: Roots) -> bool:
    """Tell whether the caller of ``subprocess`` is a function of the program."""
    while frame is not None and frame.f_globals.get("__name__") == "subprocess":
        frame = frame.f_back
    return frame is not None and roots.cover(frame.f_code.co_filename)


def through(
    args: Any, runner: Sequence[str], roots: Roots, directory: Any = None, text: bool = False
) -> Any:
    """Return the command ``args`` with ``runner`` in it, or as it is where it runs nothing of the program.

    Options of the interpreter stay before the runner. ``-`` and an interpreter that is told to ignore its
    environment or ``site-packages`` (``-E``, ``-I``, ``-S``) are left alone, and so is ``-c`` unless ``text``
    says that its text is the program's.
    """
    if not isinstance(args, (list, tuple)) or not args:
        return args
    try:
        words = [os.fsdecode(word) for word in args]
    except TypeError:
        return args
    if not _is_this_python(words[0]):
        return args
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        word = words[at]
        if word == "-" or (_LETTERS.match(word) and set("EISm") & set(word)):
            return args
        if _LETTERS.match(word) and word.endswith("c"):
            before = [args[at][:-1]] if word != "-c" else []
            return [*args[:at], *before, *runner, "-c", *args[at + 1 :]] if text else args
        at += 2 if word in _WITH_VALUE else 1

    def ours(path: str) -> bool:
        whole = os.path.join(os.fspath(directory or ""), path)
        return os.path.exists(whole) and roots.cover(os.path.abspath(whole))

    if not _runs(words[at:], ours):
        return args
    return [*args[:at], *runner, *args[at:]]


def _finds_the_same(environment: Any) -> bool:
    """Tell whether a child with these variables finds the runner wherever this process did."""
    if environment is None:
        return True
    ours, theirs = (
        str(variables.get("PYTHONPATH") or "").split(os.pathsep)
        for variables in (os.environ, environment)
    )
    return set(filter(None, ours)) <= set(theirs)


def _runs(words: Sequence[str], ours: Callable[[str], bool]) -> bool:
    """Tell whether a script or module of the program is run, or given to a module that runs it."""
    if not words:
        return False
    if words[0] != "-m":
        return ours(words[0])
    if len(words) < 2 or words[1].partition(".")[0] in ("tdev", "tdev_core"):
        return False
    place = words[1].replace(".", os.sep)
    if ours(place + ".py") or ours(os.path.join(place, "__main__.py")):
        return True
    return any(word.endswith(".py") and ours(word) for word in words[2:])


def _is_this_python(path: str) -> bool:
    found = path if os.path.isabs(path) else shutil.which(path)
    return bool(sys.executable) and found == sys.executable
