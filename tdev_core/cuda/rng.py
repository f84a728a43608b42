"""``torch.cuda.random`` for the other backends.

On ``cpu`` the accelerator's generator is ``torch.default_generator``: the tensors live there, and so must
their random numbers. A program that seeds CPU and CUDA differently therefore gets one stream of
numbers, from the seed it set last.

Nothing here calls ``torch.manual_seed``, which seeds all accelerators itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index, is_foreign

__all__ = [
    "default_generators",
    "fork_rng",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "reseed",
    "reseed_all",
    "reseed_cuda",
    "seed",
    "seed_all",
    "set_device_states",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(index: int) -> torch.Generator:
    match current():
        case Backend.MPS:
            return torch.mps._get_default_mps_generator()
        case Backend.CUDA:
            torch.cuda.init()
            generator: torch.Generator = torch.cuda.default_generators[index]
            return generator
        case Backend.MLX | Backend.SIM | Backend.CPU:
            return accelerator().generator(index)


def _count() -> int:
    match current():
        case Backend.MPS:
            return 1
        case Backend.CUDA:
            return torch.cuda.device_count()
        case Backend.MLX | Backend.SIM | Backend.CPU:
            return accelerator().device_count()


def manual_seed(seed: int) -> None:
    """Seed the current device's generator."""
    _seed(int(seed), device_index(None))


def manual_seed_all(seed: int) -> None:
    """Seed every device's generator."""
    for index in range(_count()):
        _seed(int(seed), index)


def _seed(seed: int, index: int) -> None:
    if current() is Backend.MPS:
        torch.mps.manual_seed(seed)
    else:
        accelerator().manual_seed(seed, index)


def reseed() -> int:
    """Seed the current device's generator from entropy; returns the seed (``torch.mtia.seed``)."""
    index = device_index(None)
    return _generator(index).seed() if current() is Backend.MPS else accelerator().seed(index)


def reseed_all() -> int:
    """Seed every device from one number taken from entropy; returns it (``torch.mtia.seed_all``)."""
    number = reseed()
    manual_seed_all(number)
    return number


def seed() -> None:
    """Seed the current device's generator from entropy."""
    reseed()


def seed_all() -> None:
    """Seed every device from one number taken from entropy."""
    reseed_all()


def reseed_cuda() -> int:
    """Seed all CUDA devices from one number taken from entropy; returns it."""
    torch.cuda.seed_all()
    return torch.cuda.initial_seed()


def initial_seed(device: Any = None) -> int:
    """Return the seed that a device's generator started from, the current one's unless told."""
    index = device_index(device)
    if current() is Backend.MPS:
        return _generator(index).initial_seed()
    return accelerator().initial_seed(index)


def get_rng_state(device: Any = None) -> torch.Tensor:
    """State of the device's generator, uint8."""
    index = device_index(device)
    if current() is Backend.MPS:
        return torch.mps.get_rng_state()
    return accelerator().get_rng_state(index)


def set_rng_state(new_state: torch.Tensor, device: Any = None) -> None:
    """Restore a state of :func:`get_rng_state`.

    Raises:
        RuntimeError: the state is another generator's, for instance from a checkpoint written on
            CUDA: states do not carry over between devices. Seed anew in that case.
    """
    index = device_index(device)
    if current() is Backend.MPS:
        torch.mps.set_rng_state(new_state)
        return
    try:
        accelerator().set_rng_state(new_state, index)
    except RuntimeError as error:
        raise RuntimeError(
            f"this is not a random state of the '{current().value}' backend ({error}). A state that "
            "was saved on another kind of device cannot be restored here; call manual_seed instead"
        ) from None


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of all devices' generators."""
    return [get_rng_state(index) for index in range(_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Restore the states of all devices' generators.

    States for devices that are not there are left out: a program that ran on more devices.
    """
    for index, state in enumerate(new_states):
        if index < _count():
            set_rng_state(state, index)


def set_device_states(
    devices: Iterable[Any], states: Iterable[torch.Tensor], *, device_type: str | None = None
) -> None:
    """Restore states of :func:`get_rng_state`, one for each of ``devices``.

    ``device_type`` is the accelerator's by default; devices of another type are torch's affair.

    Source: ``torch.utils.checkpoint.set_device_states``.
    """
    kind = current().value if device_type is None else torch.device(device_type).type
    if kind != current().value and not is_foreign(kind):
        torch.utils.checkpoint.set_device_states(devices, states, device_type=kind)
        return
    for device, state in zip(devices, states, strict=False):
        set_rng_state(state, device)


class _Generators(Sequence[torch.Generator]):
    """The default generators, one for each device, looked up when they are asked for."""

    def __len__(self) -> int:
        return _count()

    @overload
    def __getitem__(self, index: int) -> torch.Generator: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[torch.Generator]: ...
    def __getitem__(self, index: int | slice) -> torch.Generator | Sequence[torch.Generator]:
        return tuple(_generator(i) for i in range(_count()))[index]

    def __repr__(self) -> str:
        return repr(tuple(self))


default_generators = _Generators()
"""In the place of ``torch.cuda.default_generators``."""


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Context whose random numbers leave the generators as they were.

    The CPU's generator is always kept, and those of ``devices`` (all by default) of the active
    backend, when ``device_type`` is an accelerator's.

    Source: ``torch.random.fork_rng``.
    """
    kind = current().value if device_type is None else torch.device(device_type).type
    if kind != current().value and not is_foreign(kind):
        with torch.random.fork_rng(devices, enabled, _caller, _devices_kw, kind):
            yield
        return
    if not enabled:
        yield
        return
    if current() is Backend.CPU:
        indices: list[int] = []  # its one generator is the CPU's
        for device in devices or ():
            device_index(device)
    elif devices is None:
        indices = list(range(_count()))
    else:
        indices = [device_index(device) for device in devices]
    host = torch.get_rng_state()
    states = [get_rng_state(index) for index in indices]
    try:
        yield
    finally:
        torch.set_rng_state(host)
        for index, state in zip(indices, states, strict=True):
            set_rng_state(state, index)
