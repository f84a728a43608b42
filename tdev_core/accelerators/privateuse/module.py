"""The module that torch expects at ``torch.<name>`` for a device type of ours.

torch looks functions up on it by name: ``manual_seed`` (``torch/random.py``), autocast
(``torch/amp/autocast_mode.py``), ``torch.load`` (``torch/serialization.py``), ``fork_rng``, FSDP and
DDP. Signatures follow ``torch.cuda``.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import torch

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators import streams
from tdev_core.accelerators.events import Event

__all__ = ["DeviceModule"]


def _index(accelerator: Accelerator, device: Any) -> int:
    """Return the index that ``device`` (None, int, str or ``torch.device``) names, as torch would: exactly.

    Raises:
        TypeError: a bool.
        ValueError: a device of another type.
        RuntimeError: an index that does not exist.
    """
    if device is None:
        return accelerator.current_device()
    if isinstance(device, bool):
        raise TypeError("a device must be None, an int, a str or a torch.device, not a bool")
    if isinstance(device, int):
        index = accelerator.current_device() if device < 0 else device
    else:
        wanted = torch.device(device)
        if wanted.type != accelerator.type:
            raise ValueError(f"Expected a {accelerator.type} device, but got: {wanted}")
        index = accelerator.current_device() if wanted.index is None else wanted.index
    if index >= accelerator.device_count():
        raise RuntimeError(
            f"{accelerator.type} error: invalid device ordinal ({accelerator.type}:{index} was asked "
            f"for and there are {accelerator.device_count()})"
        )
    return index


class device:
    """Makes a device current for the block. ``device`` is an index, a string or a ``torch.device``."""

    accelerator: Accelerator

    def __init__(self, device: Any) -> None:
        self.idx = _index(self.accelerator, device) if device is not None else None
        self.prev_idx: int | None = None

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = self.accelerator.current_device()
            self.accelerator.set_device(self.idx)

    def __exit__(self, *exc_info: object) -> None:
        if self.prev_idx is not None:
            self.accelerator.set_device(self.prev_idx)


class device_of(device):
    """Makes the device of a tensor current for the block; tensors elsewhere change nothing."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == self.accelerator.type else None)


class DeviceModule(types.ModuleType):
    """``torch.<name>``: what ``torch.cuda`` is for CUDA, answered by an ``Accelerator``."""

    Stream = streams.Stream
    Event = Event
    StreamContext = streams.StreamContext
    stream = streams.StreamContext
    OutOfMemoryError = torch.OutOfMemoryError
    _initialized = True  # torch.utils.checkpoint keeps the random state of no other devices

    def __init__(
        self, name: str, accelerator: Accelerator, amp_dtypes: tuple[torch.dtype, ...]
    ) -> None:
        super().__init__(f"torch.{name}", f"The '{name}' device of tdev.")
        self._accelerator = accelerator
        self._amp_dtypes = amp_dtypes
        here = {"accelerator": accelerator}
        self.device = type("device", (device,), here)
        self.device_of = type("device_of", (device_of,), here)
        self.random = types.ModuleType(f"torch.{name}.random")
        for function in (
            "get_rng_state",
            "set_rng_state",
            "manual_seed",
            "manual_seed_all",
            "seed",
        ):
            setattr(self.random, function, getattr(self, function))
        sys.modules[f"torch.{name}.random"] = self.random

    def _index(self, device: Any) -> int:
        return _index(self._accelerator, device)

    # devices

    def is_available(self) -> bool:
        """Return True: the device type is registered only where it can be used."""
        return True

    def is_initialized(self) -> bool:
        """Return True: there is nothing to set up later."""
        return True

    def init(self) -> None:
        """Do nothing; see :meth:`is_initialized`."""

    _lazy_init = init

    def _is_in_bad_fork(self) -> bool:
        return bool(getattr(self._accelerator, "in_bad_fork", lambda: False)())

    def device_count(self) -> int:
        """Count the devices."""
        return self._accelerator.device_count()

    def current_device(self) -> int:
        """Return the index of the calling thread's current device."""
        return self._accelerator.current_device()

    def set_device(self, device: Any) -> None:
        """Make ``device`` current; a negative index changes nothing, as with CUDA."""
        if isinstance(device, int) and not isinstance(device, bool) and device < 0:
            return
        self._accelerator.set_device(self._index(device))

    def _exchange_device(self, index: int) -> int:
        before = self._accelerator.current_device()
        if index >= 0:
            self._accelerator.set_device(index)
        return before

    _maybe_exchange_device = _exchange_device

    def get_device_name(self, device: Any = None) -> str:
        """Return a name for the device: the type and the index."""
        return f"{self._accelerator.type}:{self._index(device)}"

    def synchronize(self, device: Any = None) -> None:
        """Return when all work on ``device`` is done."""
        self._accelerator.synchronize(self._index(device))

    # streams

    def current_stream(self, device: Any = None) -> streams.Stream:
        """Return the calling thread's current stream."""
        return streams.current_stream(self._index(device))

    def default_stream(self, device: Any = None) -> streams.Stream:
        """Return the device's default stream."""
        return streams.default_stream(self._index(device))

    def set_stream(self, stream: streams.Stream | None) -> None:
        """Make ``stream`` current; None changes nothing."""
        streams.set_stream(stream)

    # random numbers

    def manual_seed(self, seed: int) -> None:
        """Seed the current device's generator."""
        self._accelerator.manual_seed(int(seed), self._accelerator.current_device())

    def manual_seed_all(self, seed: int) -> None:
        """Seed every device's generator; ``torch.manual_seed`` calls this."""
        for index in range(self._accelerator.device_count()):
            self._accelerator.manual_seed(int(seed), index)

    def seed(self) -> None:
        """Seed the current device's generator from entropy."""
        self._accelerator.seed(self._accelerator.current_device())

    def seed_all(self) -> None:
        """Seed every device's generator with one number from entropy."""
        self.manual_seed_all(self._accelerator.seed(0))

    def initial_seed(self) -> int:
        """Return the seed of the current device's generator."""
        return self._accelerator.initial_seed(self._accelerator.current_device())

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        """Return the state of the device's generator, a uint8 CPU tensor."""
        return self._accelerator.get_rng_state(self._index(device))

    def set_rng_state(self, new_state: torch.Tensor, device: Any = None) -> None:
        """Restore what :meth:`get_rng_state` gave."""
        self._accelerator.set_rng_state(new_state, self._index(device))

    def get_rng_state_all(self) -> list[torch.Tensor]:
        """Return the states of all devices' generators."""
        return [self.get_rng_state(index) for index in range(self.device_count())]

    def set_rng_state_all(self, new_states: list[torch.Tensor]) -> None:
        """Restore what :meth:`get_rng_state_all` gave."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)

    @property
    def default_generators(self) -> tuple[torch.Generator, ...]:
        """Return one generator for each device."""
        return tuple(self._accelerator.generator(i) for i in range(self.device_count()))

    # memory, in bytes

    def memory_allocated(self, device: Any = None) -> int:
        """Return the bytes that live tensors hold."""
        return self._accelerator.allocated(self._index(device))

    def max_memory_allocated(self, device: Any = None) -> int:
        """Return the most bytes that were held since the start or the last reset."""
        return self._accelerator.peak(self._index(device))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        """Let the peak start again from what is held now."""
        self._accelerator.reset_peak(self._index(device))

    def memory_reserved(self, device: Any = None) -> int:
        """Return the same as :meth:`memory_allocated`: nothing is cached."""
        return self.memory_allocated(device)

    def max_memory_reserved(self, device: Any = None) -> int:
        """Return the same as :meth:`max_memory_allocated`: nothing is cached."""
        return self.max_memory_allocated(device)

    def mem_get_info(self, device: Any = None) -> tuple[int, int]:
        """Free and total bytes."""
        index = self._index(device)
        return self._accelerator.free(index), self._accelerator.total(index)

    def empty_cache(self) -> None:
        """Do nothing: freed memory goes back at once."""

    # mixed precision

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """List the types that ``torch.autocast`` may use."""
        return list(self._amp_dtypes)

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Tell whether bfloat16 may be used."""
        return torch.bfloat16 in self._amp_dtypes
