"""What streams, memory and random-number emulation need to know of MLX."""

from __future__ import annotations

import torch

from tdev_core.accelerator import Accelerator

__all__ = ["MlxAccelerator", "default_generator"]

_generator: torch.Generator | None = None


class MlxAccelerator(Accelerator):
    """The one MLX device: the GPU through Metal on Apple silicon, the CPU elsewhere."""

    type = "mlx"

    def device_count(self) -> int:
        """1: MLX drives one GPU."""
        return 1

    def current_device(self) -> int:
        """0."""
        return 0

    def set_device(self, index: int) -> None:
        """Accepts 0 (and -1, torch's "leave it").

        Raises:
            RuntimeError: for any other index.
        """
        if index not in (0, -1):
            raise RuntimeError(f"mlx:{index}: invalid device ordinal; MLX has one device, 'mlx:0'")

    def synchronize(self, index: int) -> None:
        """Evaluate everything that is pending and wait for it."""
        from tdev_core.accelerators.mlx import runtime

        runtime.synchronize()

    def allocated(self, index: int) -> int:
        """Bytes in MLX's active buffers; this thread's pending results are evaluated first, since they hold none yet."""
        import mlx.core as mx

        from tdev_core.accelerators.mlx import runtime

        runtime.settle()
        return int(mx.get_active_memory())

    def peak(self, index: int) -> int:
        """MLX's own peak counter, in bytes."""
        import mlx.core as mx

        from tdev_core.accelerators.mlx import runtime

        runtime.settle()
        return int(mx.get_peak_memory())

    def reset_peak(self, index: int) -> None:
        """Start the peak again from what is held now."""
        import mlx.core as mx

        self.synchronize(index)
        mx.reset_peak_memory()

    def total(self, index: int) -> int:
        """Bytes MLX may use: Metal's recommended working set, or the host's memory."""
        import mlx.core as mx

        info = mx.device_info(mx.default_device())
        for key in ("max_recommended_working_set_size", "memory_size", "total_memory"):
            if key in info and int(info[key]) > 0:
                return int(info[key])
        from tdev_core.accelerators.cpu.accelerator import CpuAccelerator

        return CpuAccelerator().total(0)

    def free(self, index: int) -> int:
        """What is left of `total`, MLX's cache counted as free."""
        return max(0, self.total(index) - self.allocated(index))

    def manual_seed(self, seed: int, index: int) -> None:
        """Seed the device's generator."""
        self.generator(index).manual_seed(seed)

    def seed(self, index: int) -> int:
        """Seed from entropy; returns the seed."""
        return self.generator(index).seed()

    def initial_seed(self, index: int) -> int:
        """The seed the generator started from."""
        return self.generator(index).initial_seed()

    def get_rng_state(self, index: int) -> torch.Tensor:
        """State of the generator that MLX's keys are drawn from, as a uint8 CPU tensor."""
        return self.generator(index).get_state()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        """Restore what `get_rng_state` gave."""
        self.generator(index).set_state(state)

    def generator(self, index: int) -> torch.Generator:
        """The generator that every random operator draws its MLX key from, unless it is given another."""
        return default_generator()

    def new_generator(self, index: int) -> torch.Generator:
        """A generator of its own for draws on the device, at torch's default seed."""
        from tdev_core.accelerators.privateuse.generator import DeviceGenerator

        return DeviceGenerator(torch.device("mlx", index))

    def in_bad_fork(self) -> bool:
        """Whether this process is a fork of one that used the device."""
        from tdev_core.accelerators.mlx import runtime

        return runtime.in_bad_fork()


def default_generator() -> torch.Generator:
    """The device's default generator; it starts at torch's default seed."""
    global _generator
    if _generator is None:
        from tdev_core.accelerators.privateuse.generator import DeviceGenerator

        _generator = DeviceGenerator(torch.device("mlx", 0))
    return _generator
