"""Device translation: the one function that says which device a specification means here."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from tdev_core import settings
from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current, forced
from tdev_core.errors import DeviceWarning, outside, warn_once

__all__ = [
    "ACCELERATORS",
    "APART",
    "KNOWN_TYPES",
    "THERE",
    "answers_cuda",
    "device_index",
    "here",
    "is_accelerator",
    "is_foreign",
    "known",
    "moves_copy",
    "names_accelerator",
    "translate",
    "translate_apart",
    "translate_each",
    "translate_type",
    "translator",
    "unpinned",
]

ACCELERATORS = frozenset({"cuda", "mps", "xpu", "mtia", "mlx", "sim"})
"""Device types that stand for "the accelerator" in a program; all others are taken literally."""

THERE = torch.device("cpu")
"""The accelerator's device on the CPU backend: this object, which equals every other ``torch.device("cpu")``.

A program's ``torch.device("cuda")`` is it, and by it a move knows that it was not the CPU that was meant.
"""

APART = torch.device("cpu", 0)
"""The same to torch's own functions: a device that no tensor says it is on, so that they copy; and in pickles,
where an object is only its value."""

_SPEC = re.compile(r"(?P<type>[a-z]+)(?::(?P<index>\d+))?\Z")

# Results by specification. An int never goes in: it would share its slot with a bool.
_known: dict[Any, Any] = {None: None}


def translate(spec: Any) -> Any:
    """Return the device that ``spec`` means in this process.

    ``cpu``, ``meta`` and every type that is not an accelerator's mean themselves, and ``None`` stays
    ``None`` (torch's default). An accelerator's type is honoured if it is usable in this process, and
    becomes the active backend's device otherwise. An index that the target lacks becomes 0, with one
    warning. A bare ``int`` is that index of the accelerator. Anything that is not a device
    specification is handed back, for torch to refuse in its own words.

    Returns:
        A ``torch.device``, ``None``, or the unusable ``spec`` itself.

    Source: ``torch.device`` documentation, "A torch.device can be constructed…".
    """
    if spec is THERE:
        return spec
    try:
        return _known[spec]
    except (KeyError, TypeError):  # not asked before, or nothing that has a hash
        pass
    if spec is None:
        return None
    if isinstance(spec, (str, torch.device)):
        return _translate(spec)
    if isinstance(spec, int) and not isinstance(spec, bool):
        return _on_target(current(), spec, f"index {spec}")
    return spec


def is_accelerator(what: Any, *, exact: bool = False) -> bool:
    """Tell whether ``what`` is, or lies on, the accelerator of this process.

    Takes the place of comparisons with ``"cuda"`` in code for any backend: ``x.device.type == "cuda"``
    is ``is_accelerator(x)``. On the ``cpu`` backend nothing is.

    Args:
        what: a tensor or whatever else has a ``device``, a ``torch.device``, a device string
            (``"cuda:0"``) or type; specifications are translated first, but on CUDA, where ``"mps"``
            is as little CUDA's as it is to torch.
        exact: ask as ``what == "cuda"`` does: only a string without an index can be the answer.
    """
    if exact and not (isinstance(what, str) and ":" not in what):
        return False
    device = _asked(what)
    backend = current()
    return (
        backend is not Backend.CPU
        and isinstance(device, torch.device)
        and device.type == backend.value
    )


def _place(what: Any) -> Any:
    """Return the device of what has one, as a packed sequence has its data's, else ``what`` itself."""
    if isinstance(what, str):  # NumPy's too, which say that they lie on the CPU
        return what
    device = getattr(what, "device", None)
    if device is not None:
        return device
    return what.data.device if isinstance(what, torch.nn.utils.rnn.PackedSequence) else what


def _asked(what: Any) -> Any:
    """Return the device that a question is about: on CUDA it is the comparison that it was, of any other accelerator too."""
    place = _place(what)
    if current() is not Backend.CUDA or not isinstance(place, (str, torch.device)):
        return translate(place)
    parts = _SPEC.match(str(place))
    return torch.device("cuda") if parts is not None and parts["type"] == "cuda" else None


_NOTHING = object()


def answers_cuda(what: Any = _NOTHING, *, exact: bool = False) -> bool:
    """Tell whether tdev answers here for what was written for CUDA: on each of its backends, it does.

    Takes the place of demands in code that runs on any backend: ``assert torch.cuda.is_available()`` is
    ``assert answers_cuda()``, and ``if not x.is_cuda: raise`` is ``if not answers_cuda(x): raise``. What
    *chooses* asks ``torch.cuda.is_available`` or :func:`is_accelerator`, which are false on the CPU.

    Args:
        what: the same as for :func:`is_accelerator`, and true of what is, or lies on, the device that
            stands for CUDA, on the ``cpu`` backend the CPU. What has no device answers by its own
            ``is_cuda``. Without it, whether CUDA's functions have an answer at all.
        exact: ask as ``what == "cuda"`` does: only a string without an index can be the answer.
    """
    backend = current()
    if what is _NOTHING:
        return True
    if exact and not (isinstance(what, str) and ":" not in what):
        return False
    device = _asked(what)
    if not isinstance(device, torch.device):
        return bool(getattr(what, "is_cuda", False))
    return device.type == backend.value


def translate_type(spec: Any) -> Any:
    """Like :func:`translate`, for parameters that are a device *type*: a string without an index.

    ``"cuda"`` becomes the active backend's type; of a list or tuple each item does, in a copy; what
    is neither is handed back.
    """
    if isinstance(spec, (list, tuple)):
        return type(spec)(translate_type(item) for item in spec)
    if not isinstance(spec, str):
        return spec
    device = translate(spec)
    return device.type if isinstance(device, torch.device) else spec


_moves_copy: bool | None = None  # no functools.cache, which torch.compile warns of


def moves_copy() -> bool:
    """Tell whether translated moves have to copy: nothing else tells source and result apart on a CPU."""
    global _moves_copy
    if _moves_copy is None:
        _moves_copy = current() is Backend.CPU and not settings.flag("TDEV_CPU_ALIAS")
    return _moves_copy


def names_accelerator(spec: Any) -> bool:
    """Tell whether a device specification stands for the accelerator, which may be the CPU here."""
    if isinstance(spec, torch.device):
        return spec is THERE or spec.type in ACCELERATORS or spec == APART
    if isinstance(spec, str):
        return spec.partition(":")[0] in ACCELERATORS
    return isinstance(spec, int) and not isinstance(spec, bool)


def translate_apart(spec: Any) -> Any:
    """Like :func:`translate`, for functions that make a tensor of data without copying it where it is there.

    On the CPU backend the accelerator is :data:`APART` to them: they copy, in compiled code too.
    """
    if moves_copy() and names_accelerator(spec):
        translate(spec)  # warns of an index that there is not
        return APART
    return translate(spec)


def here(tensor: torch.Tensor) -> torch.Tensor:
    """Return what was made on :data:`APART`, on the CPU: only while torch.compile traces is it not there."""
    return tensor.to("cpu") if tensor.device == APART else tensor


def translate_each(specs: Any) -> Any:
    """Like :func:`translate`, for parameters that hold several devices; the caller's list stays as
    it is."""
    if isinstance(specs, (list, tuple)):
        return type(specs)(translate(spec) for spec in specs)
    return translate(specs)


def _translate(spec: str | torch.device) -> Any:
    if isinstance(spec, torch.device):
        kind = spec.type
        index: int | None = spec.index
    else:
        parts = _SPEC.match(spec)
        if parts is None:
            return spec
        kind = parts["type"]
        index = None if parts["index"] is None else int(parts["index"])
    if kind not in ACCELERATORS:
        return _literal(spec)
    if is_foreign(kind) or kind == current().value:
        result = _on_target(current(), index, f"device {str(spec)!r}")
    else:
        result = torch.device(kind, index) if index is not None else torch.device(kind)
    if index is None and result.type == "sim":
        # torch resolves a sim device without an index to sim:0, whatever the current one is, where
        # CUDA takes the current one: fill another one in, anew at each call.
        where = _current_index()
        return torch.device("sim", where) if where else result
    return _remembered(spec, result)


def _literal(spec: str | torch.device) -> Any:
    try:
        return _remembered(spec, torch.device(spec))
    except RuntimeError:
        return spec


def _remembered(spec: str | torch.device, device: torch.device) -> torch.device:
    # One object for each device: what a translation gave is what its translation gives. Which of its two
    # meanings a CPU device has, its value does not tell.
    if device is not THERE:
        device = _known.setdefault(device, device)
    if not torch.jit.is_tracing():
        _known[spec] = device
    # else torch.jit.trace runs the program twice, and compares where operators were called: from C, once this is known
    return device


@cache
def is_foreign(kind: str) -> bool:
    """Tell whether the accelerator type ``kind`` (``"cuda"``, ``"mps"``, …) has to be translated here.

    It has not where it is the active backend's own, nor where torch finds such a device beside the
    active one. A backend forced by ``TDEV_BACKEND`` is the only accelerator that counts.
    """
    if kind == current().value:
        return False
    if forced() is not None or kind in ("mlx", "sim"):
        return True
    match kind:
        case "cuda":
            return not torch.cuda.is_available()
        case "mps":
            return not torch.backends.mps.is_available()
        case "xpu":
            return not torch.xpu.is_available()
        case "mtia":
            return not torch.mtia.is_available()
        case _:
            return False


def _on_target(backend: Backend, index: int | None, what: str) -> torch.device:
    """``index`` on ``backend``, folded to 0 where there is no such device."""
    if backend is Backend.CPU:
        if index:
            _warn_folded(what, "cpu")
        return THERE
    if index is None:
        return torch.device(backend.value)
    # Real CUDA is never folded: torch raises its own error, as the program's author would expect. Nor is a strict sim.
    real = backend is Backend.CUDA or (backend is Backend.SIM and settings.flag("TDEV_SIM_STRICT"))
    if not real and not 0 <= index < _count(backend):
        _warn_folded(what, f"{backend.value}:0")
        index = 0
    return torch.device(backend.value, index)


def _count(backend: Backend) -> int:
    if backend is Backend.MPS:
        return torch.mps.device_count()
    return accelerator().device_count()


def _warn_folded(what: str, target: str) -> None:
    warn_once(
        f"{what} does not exist here; {target} is used for it",
        DeviceWarning,
        code="TDEV301",
        key=("folded", what),
        stacklevel=outside(),
    )


def device_index(spec: Any = None) -> int:
    """Return the index on the accelerator that a ``torch.cuda``-style ``device`` argument means.

    ``None`` is the current device; a device without an index likewise. Ints, strings and devices are
    translated first. On the ``cpu`` backend, where a translated device *is* ``cpu``, that is index 0.

    Raises:
        ValueError: ``spec`` names the CPU (or any other device than the accelerator) while an
            accelerator is active, as torch.cuda does.
        TypeError: ``spec`` is no device specification.

    Source: ``torch.cuda._utils._get_device_index``.
    """
    device = translate(spec)
    if device is None:
        return _current_index()
    if not isinstance(device, torch.device):
        if isinstance(device, str):
            device = torch.device(device)  # raises torch's own error
        elif isinstance(
            getattr(device, "idx", None), int
        ):  # torch.cuda.device(i), as torch takes it
            return _current_index() if device.idx < 0 else int(device.idx)
        else:
            raise TypeError(f"expected a device, an int or a string, got {type(spec).__name__}")
    backend = current()
    if device.type != backend.value:
        kind = (
            "cuda" if backend is Backend.SIM else backend.value
        )  # torch's words for the device it stands for
        # torch.cuda's words, then torch.accelerator's: both ask here.
        raise ValueError(
            f"Expected a {kind} device, but got: {device}, which doesn't match the current accelerator {kind}"
        )
    if device.index is None or backend is Backend.CPU:
        return _current_index()
    return device.index


def _current_index() -> int:
    match current():
        case Backend.CUDA:
            return torch.cuda.current_device()
        case Backend.MPS | Backend.MLX | Backend.CPU:
            return 0  # there is one
        case Backend.SIM:
            return accelerator().current_device()


def unpinned(pin_memory: Any) -> Any:
    """Return what to ask torch for instead of page-locked memory, which it refuses where there is no CUDA.

    Such memory speeds copies to CUDA and means nothing elsewhere; ``is_pinned()`` of the result says
    that it is not. ``sim`` has some where its native library has been built. What is no bool is handed back, for torch to
    refuse in its own words.
    """
    if not isinstance(pin_memory, bool):
        return pin_memory
    return pin_memory and current() is Backend.SIM and accelerator().pins()


# By the names that torch gives parameters which are not one plain device.
_BY_PARAMETER = {
    "device_type": translate_type,
    "device_types": translate_type,
    "device_ids": translate_each,
    "devices": translate_each,
    "pin_memory": unpinned,
}


def translator(parameter: str) -> Callable[[Any], Any]:
    """Return what translates an argument of torch's by the name of its parameter."""
    return _BY_PARAMETER.get(parameter, translate)


_UNPINNED = {False: False, True: False}
_ASKED_EACH_TIME = {False: False}  # sim's native library may be loaded yet

KNOWN_TYPES = (str, torch.device, type(None), bool)
"""The exact types whose values may be looked up in what :func:`known` gives: 1 is equal to True there."""


def known(translate_argument: Callable[[Any], Any]) -> dict[Any, Any] | None:
    """Return the answers that a translator has given so far, by value; None for one that keeps none.

    The dictionary is the one that the translator goes by, and grows with it.
    """
    if translate_argument is translate:
        return _known
    if translate_argument is not unpinned:
        return None
    return _ASKED_EACH_TIME if current() is Backend.SIM else _UNPINNED
