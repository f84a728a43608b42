"""Random operators on a ``DTensor`` whose parts lie on one of tdev's own devices, or on the CPU in its place.

Each shard has to draw numbers of its own, and all copies of a shard the same ones. torch sees to that by the counter of
CUDA's generator, which every rank moves to where its shard begins. The generators here have no counter: a shard draws from
a generator of its own, seeded by the state that all ranks have in common and by the place of the shard.

Source: ``OffsetBasedRNGTracker`` in ``torch/distributed/tensor/_random.py``, private to torch, which says when ranks have
a state in common: rank 0's is everybody's from the first random operator on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from tdev_core.accelerator import accelerator
from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on

__all__ = ["install", "track_cpu"]

_MODULE = "torch.distributed.tensor._random"
_DISPATCH = "torch.distributed.tensor._dispatch"
_WITHOUT = "random operators on a DTensor do not draw other numbers for each shard"


def install() -> None:
    """Have torch track draws our way on the meshes that it tracks at all, once a program imports ``DTensor``."""
    if torch.distributed.is_available():
        when_imported((_MODULE,), _replace)
        when_imported((_DISPATCH,), _draw_in_region)


def track_cpu() -> None:
    """Have it track the draws on meshes of the CPU too, which a program has just asked of an accelerator."""
    when_imported((_MODULE,), _set)


def _replace(module: Any) -> None:
    with relying_on(_MODULE, _WITHOUT):
        module.OffsetBasedRNGTracker = _tracker(module)


def _draw_in_region(module: Any) -> None:
    """From 2.15 on torch counts the offset of CUDA's generator forward, which no other device has, in an operator."""
    counted = getattr(module, "run_dtensor_rng_op", None)
    if counted is None:
        return

    def draw(region: Any, end: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        if end is not None:
            return counted(region, end, op, *args, **kwargs)
        with region:
            return op(*args, **kwargs)

    module.run_dtensor_rng_op = draw


def _set(module: Any) -> None:
    with relying_on(_MODULE, _WITHOUT):
        if module._rng_tracker is None:
            module._rng_tracker = _tracker(module)()


def _tracker(module: Any) -> Any:
    # mypy knows no class in a module that is only there once a program imports DTensor.
    class ShardedDraws(module.OffsetBasedRNGTracker):  # type: ignore[misc]
        """Gives each shard numbers of its own, and all copies of it the same."""

        def __init__(self, device_mesh: Any = None, run_state_sync: bool = True) -> None:
            # Not torch's: it refuses the CPU, and has all ranks meet where not all may be.
            self._use_distribute_region = True
            self._in_common = not run_state_sync

        def _compute_rng_offsets(self, spec: Any) -> tuple[Any, None]:
            return self._distribute_region(spec), None  # see _draw_in_region

        @contextmanager
        def _distribute_region(
            self, spec: Any, generator: torch.Generator | None = None
        ) -> Iterator[None]:
            if not self._use_distribute_region or torch.compiler.is_compiling():
                yield
                return
            if not self._in_common:
                self._in_common = True
                take_state_of_first_rank()
            device = accelerator()
            index = device.current_device()
            shard = _place(spec)
            if shard is None:
                if generator is None:
                    yield
                else:
                    with device.drawing_from(generator):
                        yield
                return
            common = device.get_rng_state(index) if generator is None else generator.get_state()
            own = device.new_generator(index).manual_seed(_seed(common, shard))
            with device.drawing_from(own):
                yield
            # What the ranks have in common goes on alike on all of them.
            torch.empty(1, device=torch.device(device.type, index)).random_(generator=generator)

    return ShardedDraws


def _place(spec: Any) -> tuple[int, ...] | None:
    """Return this rank's place along the dimensions of the mesh that ``spec`` shards over; None where it shards over none."""
    coordinate = spec.mesh.get_coordinate()
    sharded = [n for n, placement in enumerate(spec.placements) if hasattr(placement, "dim")]
    return tuple(coordinate[n] for n in sharded) if sharded and coordinate is not None else None


def _seed(state: torch.Tensor, shard: tuple[int, ...]) -> int:
    """Return a seed that differs for each shard and at each state, by the state's and the place's digest."""
    digest = hashlib.blake2b(state.numpy().tobytes() + repr(shard).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "little") >> 1


def take_state_of_first_rank() -> None:
    device = accelerator()
    index = device.current_device()
    state = device.get_rng_state(index).to(torch.device(device.type, index))
    torch.distributed.broadcast(state, 0)
    device.set_rng_state(state.cpu(), index)
