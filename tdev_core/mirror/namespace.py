"""The ``__dict__`` of a mirror: the names of its torch module, each with what the mirror answers.

Programs look names up there (``torch.optim.__dict__["Adam"]``) and go through it (the dtypes among ``vars(torch)``). The
dictionary that the module itself has, which is the globals of its functions, cannot hold torch's names: they would stay what
they were at the first look, whatever a program or torch puts in their places afterwards, here or there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, MutableMapping
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["MARK", "Namespace", "needs_own", "own_names"]

MARK = "__tdev_"
"""How names begin under which a module keeps what tdev knows of it."""

_own_names: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__


def own_names(module: ModuleType) -> dict[str, Any]:
    """Return the dictionary that a module itself has, also a mirror: the globals of what its body defines."""
    return _own_names(module)


_EXECUTING = {
    "_frozen_importlib_external",
    "importlib._bootstrap_external",
    "torch._dynamo.aot_compile",
    "torch._dynamo.package",
}


def needs_own(frame: FrameType | None) -> bool:
    """Tell whether the code of a frame takes a module's dictionary for the globals of its functions; None is C.

    The import system executes the body in it as a module is reloaded. The compiler puts there what its own code for
    functions of the module calls.
    """
    return frame is not None and frame.f_globals.get("__name__") in _EXECUTING


_MISSING = object()

if TYPE_CHECKING:
    _Dictionary = dict[str, Any]  # which is a MutableMapping there
else:

    class _Dictionary(MutableMapping, dict):
        """A dictionary whose methods all go by the few that its class defines."""

        __slots__ = ()


class Namespace(_Dictionary):
    """The value of ``vars(mirror)``. A name is read, set and deleted as an attribute of the mirror, and found when it is asked for.

    It is a dictionary for who asks whether it is one, as ``eval`` does, and holds nothing itself: what reads a dictionary's
    storage in C finds none, ``eval(text, vars(mirror), {})`` with other locals, ``inspect.getattr_static``.

    Args:
        mirror: the module.
        source: the torch module behind it.
        answered: names that the mirror answers itself.
        lost: names of those that the installed torch does not have.
    """

    __slots__ = ("_added", "_answered", "_lost", "_mirror", "_source")

    def __init__(
        self,
        mirror: ModuleType,
        source: ModuleType,
        answered: tuple[Collection[str], ...],
        lost: Collection[str],
    ) -> None:
        self._mirror = mirror
        self._source = source
        self._answered = answered
        self._lost = lost
        self._added: set[str] = set()  # names that a program has put there, where there was nothing

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name in self._lost:
            return False
        if name in own_names(self._source):
            return True
        if name not in own_names(self._mirror):
            return self._is_answered(name) and hasattr(self._mirror, name)
        # What the body has imported for itself is nobody else's.
        return self._is_answered(name) or _is_dunder(name) or self._is_submodule(name)

    def __getitem__(self, name: str) -> Any:
        if name in self:
            try:
                return getattr(self._mirror, name)
            except AttributeError:
                pass  # another thread has deleted it
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        before = self.get(name, _MISSING)
        if before is not value:
            setattr(self._mirror, name, value)
        if before is _MISSING:
            self._added.add(name)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        delattr(self._mirror, name)
        self._added.discard(name)

    def __iter__(self) -> Iterator[str]:
        """Give the names of torch's in its order, then those of the mirror alone, but for what tdev keeps there."""
        # Lists, which other threads cannot change meanwhile.
        names = [*own_names(self._source), *own_names(self._mirror)]
        names += [name for group in self._answered for name in group]
        return iter([n for n in dict.fromkeys(names) if not n.startswith(MARK) and n in self])

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def clear(self) -> None:
        """Delete what has been added here. What torch and the mirror have defined stays: others are calling it meanwhile.

        ``mock.patch.dict`` clears a dictionary before it puts back what was in it.
        """
        for name in list(self._added):
            self.pop(name, None)

    # Each name is read by itself, and another thread may delete one meanwhile.

    def copy(self) -> dict[str, Any]:
        found = ((name, self.get(name, _MISSING)) for name in self)
        return {name: value for name, value in found if value is not _MISSING}

    def items(self) -> Any:
        return self.copy().items()

    def values(self) -> Any:
        return self.copy().values()

    def __or__(self, other: Any) -> Any:
        return self.copy() | other if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return other | self.copy() if isinstance(other, dict) else NotImplemented

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)

    def _is_answered(self, name: str) -> bool:
        return any(name in group for group in self._answered)

    def _is_submodule(self, name: str) -> bool:
        value = own_names(self._mirror).get(name)
        return getattr(value, "__name__", None) == f"{self._mirror.__name__}.{name}"


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
