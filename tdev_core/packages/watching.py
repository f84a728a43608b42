"""Has each call of a stand-in that fails name the package: a parameter that its newer release has, or what torch refused in it.

The sources keep their signatures; :func:`watch` puts a function with the same one in place of each public function, and of each
public class's constructor, ``forward`` and ``step``.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

from tdev_core.ecosystem.package_table import stand_ins
from tdev_core.errors import UnsupportedError
from tdev_core.packages.lacking import LackingParameter, words

__all__ = ["watch"]

_ROOM = __name__.rpartition(".")[0] + "."


def watch(module: ModuleType) -> None:
    """Watch what ``module``, a stand-in, has in ``__all__``; a second time does nothing."""
    for name in getattr(module, "__all__", ()):
        value = vars(module).get(name)
        if isinstance(value, (FunctionType, MethodType)) and _is_ours(value):
            vars(module)[name] = _watched(value)
        elif isinstance(value, type) and value.__module__.startswith(_ROOM):
            for method in ("__init__", "forward", "step"):
                own = vars(value).get(method)
                if isinstance(own, FunctionType) and _is_ours(own):
                    setattr(value, method, _watched(own))


def _is_ours(function: FunctionType | MethodType) -> bool:
    """Tell whether a stand-in defines ``function`` and it is not watched."""
    return function.__module__.startswith(_ROOM) and not hasattr(function, "tdev_watched")


@functools.cache
def _watched(function: FunctionType | MethodType) -> Callable[..., Any]:
    """Return ``function`` with its errors told, and put it where the module that defines it has it, as pickle asks."""

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UnsupportedError:
            raise
        except TypeError as error:
            _raise_if_unknown(function, args, kwargs)
            _note(error, function)
            raise
        except Exception as error:
            _note(error, function)
            raise

    watched.tdev_watched = True  # type: ignore[attr-defined]  # a mark
    home = vars(sys.modules[function.__module__])
    if home.get(function.__name__) is function:
        home[function.__name__] = watched
    return watched


def _raise_if_unknown(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise for a parameter that the release which the stand-in is like does not have."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    unknown = sorted(kwargs.keys() - parameters.keys())
    if unknown or len(args) > len(parameters):
        asked = _asked(function)
        like = stand_ins()[asked.partition(".")[0]].like
        what = ", ".join(unknown) or f"number {len(parameters) + 1}"
        raise LackingParameter(
            words(
                asked,
                f"has no parameter {what} in the stand-in, whose signatures are those of release {like}",
            )
        ) from None


def _note(error: Exception, function: Callable[..., Any]) -> None:
    """Add a note of where ``error`` comes from; Python 3.10 has none."""
    asked = _asked(function)
    note = f"raised in tdev's stand-in for {asked.partition('.')[0]}, by {asked}"
    if hasattr(error, "add_note") and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _asked(function: Callable[..., Any]) -> str:
    """Return the function's name as the package has it."""
    owner = getattr(function, "__self__", None)
    module = (owner or function).__module__.removeprefix(_ROOM)
    name = function.__qualname__ if owner is None else f"{owner.__qualname__}.{function.__name__}"
    return f"{module}.{name.removesuffix('.__init__')}"
