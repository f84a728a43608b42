"""The shim for methods that need nothing but their device arguments translated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tdev_core.devices import translator
from tdev_core.shims.calls import passing

__all__ = ["by_signature", "translating"]


def translating(
    original: Callable[..., Any], devices: tuple[tuple[str, int | None], ...], *, bound: bool = True
) -> Callable[..., Any]:
    """``original`` with the arguments that ``devices`` names translated.

    Args:
        original: an unbound method or constructor, or a static method.
        devices: parameter names with their position (``self`` not counted), or None where the
            parameter is keyword-only.
        bound: whether ``original`` is called with ``self`` or ``cls`` first.
    """
    offset = 1 if bound else 0
    plan = [
        (name, None if position is None else position + offset, translator(name))
        for name, position in devices
    ]
    names = [name for name, _, _ in plan]
    placed = [position for _, position, _ in plan if position is not None]
    if not placed:
        named = tuple((name, translate) for name, _, translate in plan)

        @passing(*names)
        def keyword(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                return original(*args)
            for name, translate in named:
                if name in kwargs:
                    kwargs[name] = translate(kwargs[name])
            return original(*args, **kwargs)

        return keyword

    @passing(*names, most=min(placed))
    def positional(*args: Any, **kwargs: Any) -> Any:
        for name, position, translate in plan:
            if name in kwargs:
                kwargs[name] = translate(kwargs[name])
            elif position is not None and position < len(args):
                args = (*args[:position], translate(args[position]), *args[position + 1 :])
        return original(*args, **kwargs)

    return positional


def by_signature(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original``, a method, with its parameter ``device`` translated wherever it stands.

    So is a default that names CUDA, where a call leaves the device out.
    """
    parameters = list(inspect.signature(original).parameters.values())[1:]  # without self
    devices = tuple(
        (parameter.name, None if parameter.kind is parameter.KEYWORD_ONLY else position)
        for position, parameter in enumerate(parameters)
        if parameter.name == "device"
    )
    translated = translating(original, devices)
    default = inspect.signature(original).parameters["device"].default
    if not isinstance(default, str):
        return translated
    ((name, position),) = devices

    def filled(*args: Any, **kwargs: Any) -> Any:
        if name not in kwargs and (position is None or len(args) <= position + 1):
            kwargs[name] = default
        return translated(*args, **kwargs)

    return filled
