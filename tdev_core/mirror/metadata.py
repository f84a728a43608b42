"""Give what the mirror puts in place of torch's callables the metadata of torch's."""

from __future__ import annotations

import inspect
import re
import textwrap
import typing
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from tdev_core.metrics import counters

__all__ = ["with_metadata"]


_HEADING = "Backends:\n"
"""What stands above the answers in the docstring of an emitted function; ``generator/render/answers.py`` writes it."""

_MARGIN = re.compile(r"\n( *)[^ \n]")


def with_metadata(
    value: Any, module: str, name: str, original: Any, answers: Sequence[str] = ()
) -> Any:
    """``value``, which stands at ``module.name`` for torch's ``original``, with the original's metadata.

    Documentation, signature and annotations become the original's, and the documentation ends with what
    each backend does. ``__module__`` and ``__qualname__`` say where ``value`` is found: pickle goes by
    them. Its source stays its own: ``__wrapped__``, by which ``inspect.getsource`` would show torch's
    code, is set only where torch has no source either.

    Args:
        value: a function or class of the mirror, or any other object, which is left as it is.
        module: the mirror's ``__name__``.
        name: the name there.
        original: what torch has under it.
        answers: what each backend does, a line for each answer, where no docstring of ``value`` says it.

    Returns:
        ``value`` itself, or a function of the same code where ``value`` is used elsewhere too.
    """
    if isinstance(value, FunctionType):
        return _described_function(value, module, name, original, answers)
    if isinstance(value, type) and isinstance(original, type) and value is not original:
        _describe_class(value, original, answers)
    return value


def _described_function(
    value: FunctionType, module: str, name: str, original: Any, answers: Sequence[str]
) -> Any:
    if value.__module__ != module:
        # A function of tdev_core may answer for several names of torch; each has its own metadata.
        copy = FunctionType(
            value.__code__, value.__globals__, name, value.__defaults__, value.__closure__
        )
        copy.__kwdefaults__ = value.__kwdefaults__
        copy.__dict__.update(value.__dict__)
        copy.__module__, copy.__qualname__ = module, name
        value = copy
    elif value.__doc__:
        answers = textwrap.dedent(value.__doc__.partition(_HEADING)[2]).splitlines()
    if not callable(original):
        return value
    if original.__doc__:
        value.__doc__ = _documented(original.__doc__, answers)
    value.__name__ = getattr(original, "__name__", name)
    _take_signature(value, original)
    if counters.enabled():
        # By the name at which the catalog has it, not by the private module in which torch wrote it.
        return counters.counted(value, f"torch{module[len('tdev') :]}.{name}")
    return value


def _documented(text: str, answers: Sequence[str]) -> str:
    """Return torch's docstring with the answers below it, as deep as its own text stands."""
    if not answers:
        return text
    margin = min(_MARGIN.findall(text), key=len, default="")
    lines = (f"{margin}{_HEADING.rstrip()}", *(f"{margin}    {line}" for line in answers))
    return "\n".join((text.rstrip(), "", *lines, ""))


def _take_signature(value: FunctionType, original: Any) -> None:
    """Give a function the signature and the annotations that ``inspect`` and ``typing`` find at another."""
    annotations = dict(getattr(original, "__annotations__", None) or {})
    resolved = _resolved(original) if any(map(_is_text, annotations.values())) else None
    value.__annotations__ = annotations if resolved is None else resolved
    if resolved is None and _has_parameters_of(value, original):
        return  # inspect reads the same off its code, and need not be told at every start
    try:
        value.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        value.__wrapped__ = original  # type: ignore[attr-defined]  # a builtin: inspect finds no more than of torch's


def _is_text(annotation: Any) -> bool:
    """Tell whether an annotation, or a part of it, is a name that is looked up where the function was written."""
    if type(annotation) in (str, typing.ForwardRef):
        return True
    return any(map(_is_text, getattr(annotation, "__args__", None) or ()))


def _resolved(original: Any) -> dict[str, Any] | None:
    """Return the annotations of a function, written as text, as what they mean where it was written; None if nothing."""
    try:
        return typing.get_type_hints(original, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return None  # names for type checkers alone


def _has_parameters_of(value: FunctionType, original: Any) -> bool:
    if not isinstance(original, FunctionType) or original.__dict__.keys() & _DECLARED:
        return False
    return _parameters(value) == _parameters(original)


_DECLARED = {"__wrapped__", "__signature__"}
_STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _parameters(function: FunctionType) -> tuple[Any, ...]:
    code = function.__code__
    stars = code.co_flags & _STARS
    named = code.co_argcount + code.co_kwonlyargcount + stars.bit_count()
    return (
        code.co_varnames[:named],
        code.co_argcount,
        code.co_posonlyargcount,
        stars,
        function.__defaults__,
        function.__kwdefaults__,
    )


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


def _describe_class(value: type, original: type, answers: Sequence[str]) -> None:
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
            value.__doc__ = _documented(original.__doc__, answers)
        value.__signature__ = signature  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        pass  # an immutable type keeps its own
