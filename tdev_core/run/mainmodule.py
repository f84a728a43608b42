"""Finds and compiles the module that is run as ``__main__``, and gives it what Python gives such a module."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, ModuleSpec
from types import CodeType
from typing import Any

from tdev_core.run.compiling import Compiler
from tdev_core.run.importer import RewritingLoader
from tdev_core.run.state import State


class NotFound(Exception):
    """There is no such script or module, or it cannot be run; the message says so."""


@dataclass(frozen=True)
class Main:
    """Code, the file that it is from, and the module attributes that go with it."""

    path: str
    code: CodeType
    attributes: dict[str, Any]

    def execute(self, namespace: dict[str, Any]) -> None:
        """Run the code in ``namespace``, which holds nothing else but its name and builtins."""
        kept = {key: namespace[key] for key in ("__name__", "__builtins__") if key in namespace}
        namespace.clear()
        namespace.update(self.attributes, **kept)
        exec(self.code, namespace)  # nosec B102  # the program that the user has asked to run


def by_path(given: str, compiler: Compiler) -> Main:
    """Return the script ``given``, or the ``__main__.py`` of a directory."""
    path = absolute(given)
    spec = None
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
        if not os.path.isfile(path):
            raise NotFound(f"can't find '__main__.py' in the directory {given!r}")
        loader = RewritingLoader("__main__", path, compiler)
        spec = importlib.util.spec_from_file_location("__main__", path, loader=loader)
    loader = RewritingLoader("__main__", path, compiler)
    try:
        code = loader.get_code("__main__")
    except OSError as error:
        raise NotFound(f"can't open file {path!r}: {error.strerror}") from None
    return Main(path, code, _attributes(path, spec, loader))


def by_text(text: str, compiler: Compiler) -> Main:
    """Return the program that ``python -c`` would be given."""
    code = compiler.code(text.encode(), "<string>")
    nothing = {
        "__doc__": None,
        "__package__": None,
        "__loader__": BuiltinImporter,
        "__spec__": None,
    }
    return Main("<string>", code, nothing)


def by_name(name: str) -> Main:
    """Return the module ``name``, or the ``__main__`` of a package; imports the packages above it."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            package, spec = spec, importlib.util.find_spec(name)
            if spec is None:
                raise NotFound(f"{package.name!r} is a package without a __main__ module")
    except (ModuleNotFoundError, ValueError) as error:
        missing = getattr(error, "name", None)
        if missing is not None and missing != name and not name.startswith(f"{missing}."):
            raise  # the module is there and misses something itself
        raise NotFound(f"no module named {name!r}") from None
    if spec is None:
        raise NotFound(f"no module named {name!r}")
    get_code = getattr(spec.loader, "get_code", None)
    code = get_code(name) if get_code is not None else None
    if code is None or spec.origin is None:
        raise NotFound(f"{name!r} has no Python code to run")
    return Main(spec.origin, code, _attributes(spec.origin, spec, spec.loader))


def of(state: State, compiler: Compiler) -> Main | None:
    """Return the main module that a child has to run again, or None where the parent named none."""
    if state.main_name is not None:
        return by_name(state.main_name)
    if state.main_path is None:
        return None
    name = os.path.splitext(os.path.basename(state.main_path))[0]
    if name == "ipython" or not os.path.isfile(state.main_path):
        return None  # as multiprocessing does: no guard there
    if state.places().cover(state.main_path):
        return by_path(state.main_path, compiler)
    with open(state.main_path, "rb") as file:
        code = compile(file.read(), state.main_path, "exec", dont_inherit=True)
    return Main(state.main_path, code, _attributes(state.main_path, None, None))


def _attributes(path: str, spec: ModuleSpec | None, loader: object) -> dict[str, Any]:
    return {
        "__doc__": None,
        "__package__": None if spec is None else spec.parent,
        "__loader__": loader,
        "__spec__": spec,
        "__file__": path,
        "__cached__": None,
    }


def first_path_entry(main: str | None) -> str:
    """Return the ``sys.path[0]`` of a script (its directory, links resolved) or, with None, a module."""
    if main is None:
        return os.getcwd()
    real = os.path.realpath(main)
    return absolute(main) if os.path.isdir(real) else os.path.dirname(real)


def absolute(path: str) -> str:
    """``path`` as Python makes a script's path absolute: put after the working directory as it is."""
    if os.name == "nt":
        return os.path.abspath(path)
    return os.path.join(os.getcwd(), path)


def set_first_path_entry(entry: str) -> None:
    """Put ``entry`` where Python would have, unless it was told not to (``-P``)."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = entry
