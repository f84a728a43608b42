"""MLX as an :class:`~tdev_core.accelerator.Accelerator`: for streams, memory and random numbers."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators.mlx import generators, runtime
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.privateuse import thread_generator
from tdev_core.accelerators.privateuse.generator import DeviceGenerator

__all__ = ["MlxAccelerator"]


class MlxAccelerator(Accelerator):
    """The one MLX device: the GPU through Metal on Apple silicon, the CPU elsewhere."""

    type = "mlx"

    def device_count(self) -> int:
        """Give 1: MLX drives one GPU."""
        return 1

    def current_device(self) -> int:
        """Give 0."""
        return 0

    def set_device(self, index: int) -> None:
        """Accept 0 (and -1, torch's "leave it").

        Raises:
            RuntimeError: for any other index.
        """
        if index not in (0, -1):
            raise RuntimeError(f"mlx:{index}: invalid device ordinal; MLX has one device, 'mlx:0'")

    def synchronize(self, index: int) -> None:
        """Evaluate everything that is pending and wait for it."""
        runtime.synchronize()

    def allocated(self, index: int) -> int:
        """Read the bytes in MLX's active buffers; this thread's pending results are evaluated first, since they hold none yet."""
        runtime.settle()
        return int(mx.get_active_memory())

    def peak(self, index: int) -> int:
        """Read MLX's own peak counter, in bytes: 0 after a reset until something is allocated, so that what is held counts."""
        runtime.settle()
        return int(max(mx.get_peak_memory(), mx.get_active_memory()))

    def reset_peak(self, index: int) -> None:
        """Start the peak again from what is held now."""
        self.synchronize(index)
        mx.reset_peak_memory()

    def total(self, index: int) -> int:
        """Give the bytes MLX may use: Metal's recommended working set, or the host's memory."""
        return runtime.total_memory()

    def free(self, index: int) -> int:
        """Give what is left of `total`, MLX's cache counted as free."""
        return max(0, self.total(index) - self.allocated(index))

    def manual_seed(self, seed: int, index: int) -> None:
        """Seed the device's generator."""
        self.generator(index).manual_seed(seed)

    def seed(self, index: int) -> int:
        """Seed from entropy; returns the seed."""
        return self.generator(index).seed()

    def initial_seed(self, index: int) -> int:
        """Give the seed the generator started from."""
        return self.generator(index).initial_seed()

    def get_rng_state(self, index: int) -> torch.Tensor:
        """Give the state of the generator that MLX's keys are drawn from, as a uint8 CPU tensor."""
        return self.generator(index).get_state()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        """Restore what `get_rng_state` gave."""
        self.generator(index).set_state(state)

    def generator(self, index: int) -> torch.Generator:
        """Give the generator that every random operator draws its MLX key from, unless it is given another."""
        return generators.default()

    def drawing_from(self, generator: torch.Generator) -> AbstractContextManager[object]:
        """Take the keys of this thread's draws from `generator`."""
        return thread_generator.drawing_from(generator)

    def new_generator(self, index: int) -> torch.Generator:
        """Make a generator of its own for draws on the device, at torch's default seed."""
        return DeviceGenerator(torch.device("mlx", index))

    def in_bad_fork(self) -> bool:
        """Tell whether this process is a fork of one that used the device."""
        return runtime.in_bad_fork()
