"""The shim for methods that need nothing but their device arguments translated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tdev_core.devices import translate, translate_each, translate_type, unpinned

__all__ = ["by_signature", "translating"]

# By the names that torch gives parameters which are not one plain device.
_TRANSLATORS = {
    "device_type": translate_type,
    "device_types": translate_type,
    "device_ids": translate_each,
    "devices": translate_each,
    "pin_memory": unpinned,
}


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
        (name, None if position is None else position + offset, _TRANSLATORS.get(name, translate))
        for name, position in devices
    ]
    if all(position is None for _, position, _ in plan):
        named = tuple((name, translator) for name, _, translator in plan)

        def keyword(*args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                return original(*args)
            for name, translator in named:
                if name in kwargs:
                    kwargs[name] = translator(kwargs[name])
            return original(*args, **kwargs)

        return keyword

    def positional(*args: Any, **kwargs: Any) -> Any:
        for name, position, translator in plan:
            if name in kwargs:
                kwargs[name] = translator(kwargs[name])
            elif position is not None and position < len(args):
                args = (*args[:position], translator(args[position]), *args[position + 1 :])
        return original(*args, **kwargs)

    return positional


def by_signature(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original``, a constructor, with its parameter ``device`` translated wherever it stands."""
    parameters = list(inspect.signature(original).parameters.values())[1:]  # without self
    devices = tuple(
        (parameter.name, None if parameter.kind is parameter.KEYWORD_ONLY else position)
        for position, parameter in enumerate(parameters)
        if parameter.name == "device"
    )
    return translating(original, devices)
