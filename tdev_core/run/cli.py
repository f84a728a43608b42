"""Reads the command line of ``python -m tdev run``, and runs the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice, pairwise
from textwrap import fill
from types import ModuleType
from typing import Literal

from tdev_core.ecosystem.libraries import DEVICE_CHOOSERS
from tdev_core.errors import ConfigError, heed_interrupts
from tdev_core.run import failing, mainmodule, state
from tdev_core.run.roots import NoSuchLibrary, configured_libraries, of_program

USAGE = f"""\
usage: python -m tdev run [OPTIONS] SCRIPT [ARGS ...]
       python -m tdev run [OPTIONS] -m MODULE [ARGS ...]
       python -m tdev run [OPTIONS] -c TEXT [ARGS ...]

Runs a program written for CUDA as if the codemod had rewritten it. Its source is
rewritten as it is imported; no file is changed. The program is what lies beside the
script, below the working directory, in the same git repository, or in a project that
is installed editable.

  --library A,B  also rewrite these installed libraries, by name; those that choose the
                 device themselves need it, such as
{fill(", ".join(DEVICE_CHOOSERS), 70, initial_indent=" " * 17, subsequent_indent=" " * 17)}
  --root DIR     also rewrite modules below this directory (may be repeated)
  --no-cache     do not keep compiled code in the user's cache directory

[tool.tdev] in pyproject.toml may name libraries, too: libraries = ["accelerate"]
"""
_NOTEBOOK = """\
{script} is a notebook, whose cells Jupyter runs and not a file that Python runs.
  python -m tdev codemod --diff {script}    shows it rewritten; without --diff, rewrites it
  import tdev as torch                      in its first cell, and it can stay as it is otherwise
  jupyter nbconvert --to script {script}    makes a script of it, for: python -m tdev run
"""


@dataclass(frozen=True)
class Request:
    """The run that the command line asks for; ``target`` is a module's name, a script's path, or the program (``-c``)."""

    target: str
    kind: Literal["script", "module", "text"]
    arguments: tuple[str, ...]
    roots: tuple[str, ...]
    libraries: tuple[str, ...]
    cached: bool


def main(argv: Sequence[str]) -> int:
    """See :func:`tdev_core.run.main`."""
    request = _parse(argv)
    if isinstance(request, str):
        return _refuse(f"{request}\n\n{USAGE}")
    if request is None:
        print(USAGE, end="")
        return 0
    if find_spec("libcst") is None:  # asked for, not imported: a cached program never needs it
        return _refuse("it needs libcst, which is not installed: pip install 'tdev[codemod]'\n")
    return _run(request)


def _parse(argv: Sequence[str]) -> Request | str | None:
    """Return the request, or what is wrong with the command line, or None when help is asked for."""
    rest = list(argv)
    roots: list[str] = []
    libraries: list[str] = []
    cached = True
    while rest:
        word = rest.pop(0)
        name, is_set, value = word.partition("=")
        if word in ("-h", "--help"):
            return None
        if word == "--no-cache":
            cached = False
        elif name == "--root":
            if not is_set and not rest:
                return "--root needs a directory"
            root = value if is_set else rest.pop(0)
            if not os.path.exists(root):
                return f"--root {root}: no such directory or file"
            roots.append(root)
        elif name in ("--library", "--libraries"):
            if not is_set and not rest:
                return "--library needs the names of libraries: --library accelerate,transformers"
            named = value if is_set else rest.pop(0)
            libraries += filter(None, (part.strip() for part in named.split(",")))
        elif word.startswith("-m"):
            target = word[2:] or (rest.pop(0) if rest else "")
            if not target:
                return "-m needs the name of a module"
            return Request(target, "module", tuple(rest), tuple(roots), tuple(libraries), cached)
        elif word == "-c":
            if not rest:
                return "-c needs a program"
            text = rest.pop(0)
            return Request(text, "text", tuple(rest), tuple(roots), tuple(libraries), cached)
        elif word == "--":
            continue
        elif word.startswith("-"):
            return f"unknown option {word}"
        else:
            return Request(word, "script", tuple(rest), tuple(roots), tuple(libraries), cached)
    return "no script and no module given"


def _run(request: Request) -> int:
    script = request.target if request.kind == "script" else None
    if script is not None and not os.path.exists(script):
        return _refuse(f"can't open file {os.path.abspath(script)!r}: no such file or directory\n")
    if script is not None and script.endswith(".ipynb"):
        return _refuse(_NOTEBOOK.format(script=script))
    entry = mainmodule.first_path_entry(script)
    try:
        set_up = state.State(
            roots=tuple(
                map(os.path.abspath, (*of_program(entry), *request.roots, *_of_script(request)))
            ),
            libraries=tuple(dict.fromkeys((*request.libraries, *configured_libraries(entry)))),
            cached=request.cached,
            mirror="tdev" in sys.modules,
        )
        compiler = state.set_up(set_up)
    except (NoSuchLibrary, ConfigError) as error:
        return _refuse(f"{error}\n")
    mainmodule.set_first_path_entry("" if request.kind == "text" else entry)
    sys.argv[:] = ["-c" if request.kind == "text" else request.target, *request.arguments]
    if _starts_pytest(request):
        _load_pytest_plugin()
    try:
        if request.kind == "text":
            found = mainmodule.by_text(request.target, compiler)
        elif script is None:
            sys.argv[0] = "-m"  # what Python has there while it looks for the module
            found = mainmodule.by_name(request.target)
            sys.argv[0] = found.path
        else:
            found = mainmodule.by_path(script, compiler)
    except mainmodule.NotFound as error:
        return _refuse(f"{error}\n")
    except SyntaxError as error:
        failing.show(error)
        return 2
    except Exception as error:  # a package above the module failed as it was imported
        failing.show(error)
        return 1
    return _execute(found)


def _of_script(request: Request) -> tuple[str, ...]:
    """Return the directory of the script that a debugger, a profiler or a launcher is given to run."""
    given = (word for word in request.arguments if word.endswith(".py") and os.path.isfile(word))
    return tuple(mainmodule.first_path_entry(script) for script in islice(given, 1))


def _starts_pytest(request: Request) -> bool:
    """Tell whether the module to run is pytest, or is given it: ``-m coverage run -m pytest``."""
    if request.kind == "module" and request.target == "pytest":
        return True
    return ("-m", "pytest") in pairwise(request.arguments)


def _load_pytest_plugin() -> None:
    """Have pytest load our plugin: it loads test modules itself, to rewrite their assertions."""
    names = os.environ.get("PYTEST_PLUGINS", "").split(",")
    plugin = "tdev.pytest_plugin" if "tdev" in sys.modules else "tdev_core.run.pytest_plugin"
    os.environ["PYTEST_PLUGINS"] = ",".join(filter(None, dict.fromkeys([*names, plugin])))


def _execute(found: mainmodule.Main) -> int:
    module = ModuleType("__main__")
    # The module that was __main__ until now stays alive: this very call is made by its code.
    _before = sys.modules["__main__"]
    # multiprocessing took the other one when it was imported, to find what children send back.
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
    module.__dict__["__builtins__"] = __import__("builtins")
    heed_interrupts()
    try:
        found.execute(module.__dict__)
    except Exception as error:
        if sys.gettrace() is not None:
            raise  # a debugger wants to see it itself
        failing.show(error)
        failing.hint(error)
        return 1
    except SystemExit as error:
        if error.code not in (None, 0, 2):  # 2: a command line that means nothing
            failing.hint()
        raise
    except KeyboardInterrupt as error:
        failing.show(error)
        # It goes on, unseen, so that the interpreter ends as it does on an interrupt.
        sys.excepthook = lambda *_: None
        raise
    return 0


def _refuse(message: str) -> int:
    print(f"tdev run: {message}", end="", file=sys.stderr)
    return 2
