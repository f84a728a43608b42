"""Reads, writes and makes storages of device ``mlx`` for ``torch.UntypedStorage`` (see ``privateuse.storages``)."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.storage import allocation, contents, transfer
from tdev_core.accelerators.privateuse import torch_api

__all__ = ["MlxStorages"]


class MlxStorages:
    """Storages as bytes. Sizes are in bytes."""

    def new(self, nbytes: int, index: int | None) -> torch.UntypedStorage:
        """Make a storage of zeros."""
        runtime.ready()
        if index not in (None, 0):
            raise RuntimeError(f"mlx:{index}: invalid device ordinal; MLX has one device, 'mlx:0'")
        return allocation.wrap(mx.zeros((nbytes,), dtype=mx.uint8)).untyped_storage()

    def nbytes(self, s: torch.UntypedStorage) -> int:
        """Give its size."""
        return int(torch_api.storage_nbytes(s))

    def host(self, s: torch.UntypedStorage) -> torch.UntypedStorage:
        """Copy the bytes to the CPU."""
        held: Any = s
        contents.settle(held)
        if hasattr(held, "_host"):
            return held._host  # type: ignore[no-any-return]
        array = getattr(held, "_mx", None)
        if array is None:
            array = getattr(held, "_raw", None)
        if array is None:
            if self.nbytes(s):
                raise RuntimeError(
                    "this storage on device 'mlx' holds no data: tdev did not make it"
                )
            return torch.UntypedStorage(0)
        runtime.ready()
        return transfer.download(mx.reshape(array, (-1,)), writable=True).untyped_storage()

    def write(self, s: torch.UntypedStorage, source: torch.UntypedStorage) -> None:
        """Overwrite the bytes with those of a CPU storage of the same size."""
        held: Any = s
        runtime.ready()
        with runtime.lock:
            contents.settle(held)
            if hasattr(held, "_host"):
                held._host = source.clone()
                return
            for name in ("_mx", "_raw"):
                array = getattr(held, name, None)
                if array is not None:
                    setattr(held, name, transfer.from_host(source, to_torch[array.dtype]))
                    return

    def resize(self, s: torch.UntypedStorage, nbytes: int) -> None:
        """Change the size, keeping the common prefix; tensors over the storage see the change."""
        data = torch.UntypedStorage(nbytes)
        old = self.host(s)
        keep = min(nbytes, old.nbytes())
        torch.empty(0, dtype=torch.uint8).set_(data)[:keep].copy_(
            torch.empty(0, dtype=torch.uint8).set_(old)[:keep]
        )
        held: Any = s
        torch_api.reseat_storage(s, allocation.next_address(), nbytes)
        for name in ("_mx", "_raw"):
            array = getattr(held, name, None)
            if array is not None:
                if nbytes % array.dtype.size:
                    raise RuntimeError(f"a storage of {array.dtype} cannot have {nbytes} bytes")
                setattr(held, name, transfer.from_host(data, to_torch[array.dtype]))
                return
        held._host = data
