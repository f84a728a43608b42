"""Give what the mirror puts in place of torch's callables the metadata of torch's."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from tdev_core import counters

__all__ = ["with_metadata"]


def with_metadata(value: Any, module: str, name: str, original: Any) -> Any:
    """``value``, which stands at ``module.name`` for torch's ``original``, with the original's metadata.

    Documentation, signature and annotations become the original's. ``__module__`` and
    ``__qualname__`` say where ``value`` is found: pickle goes by them.

    Returns:
        ``value`` itself, or a function of the same code where ``value`` is used elsewhere too.
    """
    if isinstance(value, FunctionType):
        return _described_function(value, module, name, original)
    if isinstance(value, type) and isinstance(original, type) and value is not original:
        _describe_class(value, original)
    return value


def _described_function(value: FunctionType, module: str, name: str, original: Any) -> Any:
    if value.__module__ != module:
        # A function of tdev_core may answer for several names of torch; each has its own metadata.
        copy = FunctionType(
            value.__code__, value.__globals__, name, value.__defaults__, value.__closure__
        )
        copy.__kwdefaults__ = value.__kwdefaults__
        copy.__dict__.update(value.__dict__)
        copy.__module__, copy.__qualname__ = module, name
        value = copy
    if not callable(original):
        return value
    if original.__doc__:
        value.__doc__ = original.__doc__
    value.__name__ = getattr(original, "__name__", name)
    value.__annotations__ = dict(getattr(original, "__annotations__", None) or {})
    value.__wrapped__ = original  # type: ignore[attr-defined]  # read by inspect.signature
    if counters.enabled():
        # By the name at which the catalog has it, not by the private module in which torch wrote it.
        return counters.counted(value, f"torch{module[len('tdev') :]}.{name}")
    return value


class _Signature:
    """``__signature__`` of one class: the original's, found when it is asked for.

    A subclass has a constructor of its own and does not inherit it.
    """

    def __init__(self, original: type) -> None:
        self.original = original
        self.owner: type | None = None

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if instance is None and owner is self.owner:
            try:
                return inspect.signature(self.original)
            except ValueError:
                pass  # torch's has none: what can be read off our constructor is better
        raise AttributeError("__signature__")


def _describe_class(value: type, original: type) -> None:
    if not any(cls.__module__.startswith("tdev_core") for cls in (value, type(value))):
        return  # another class of torch answers: it has metadata of its own
    present = vars(value).get("__signature__")
    if isinstance(present, _Signature) and not original.__module__.startswith("torch.cuda"):
        return  # described by another of its names; of several, torch.cuda's counts
    signature = _Signature(original)
    signature.owner = value
    try:
        value.__name__ = original.__name__  # not __qualname__, by which pickle finds it
        if original.__doc__:
            value.__doc__ = original.__doc__
        value.__signature__ = signature  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        pass  # an immutable type keeps its own
