"""One operator call on its way to the CPU's kernels and back."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.accelerators.privateuse import generator as generators
from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.privateuse.device_check import mixed_devices
from tdev_core.accelerators.sim import memory, rng, sparse
from tdev_core.accelerators.sim.aliasing import (
    adopt_dense,
    adopt_tensor,
    dense_alias,
    forget_alias,
    host_alias,
    kept_alias,
)
from tdev_core.accelerators.sim.rules import Rules

__all__ = ["Call", "give_back"]

_CPU = torch.device("cpu")
_Tensor = torch.Tensor
_STRIDED = torch.strided
_PLAIN = frozenset(
    {
        bool,
        float,
        int,
        str,
        type(None),
        torch.device,
        torch.dtype,
        torch.layout,
        torch.memory_format,
    }
)
"""Types of what the CPU's operator takes as it is."""


class Call:
    """One call's arguments on their way to the CPU, and what is needed to bring results back.

    ``aliases`` are pairs of a dense sim tensor and the CPU tensor over its memory, the components of
    sparse arguments among them; ``reshaped`` those of arguments that the operator may give another shape.
    ``lowered`` has what became of each argument, by identity; ``homes`` the sim tensor of each alias, and ``storages`` that
    of each alias's storage, once somebody has looked.
    """

    __slots__ = (
        "aliases",
        "foreign",
        "homes",
        "index",
        "lowered",
        "reshaped",
        "rules",
        "sparse_written",
        "storages",
    )

    def __init__(self, known: Rules) -> None:
        self.rules = known
        self.index = -1
        self.aliases: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.reshaped: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.lowered: dict[int, torch.Tensor] = {}
        self.homes: dict[int, torch.Tensor] = {}
        self.foreign: list[tuple[str, torch.Tensor]] = []
        self.sparse_written: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.storages: dict[int, torch.Tensor] | None = None

    def lower(self, value: Any, name: str) -> Any:
        """Return ``value`` for the CPU's operator; lists are walked."""
        if isinstance(value, _Tensor):
            return self._tensor(value, name)
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list or kind is tuple:
            tensor = self._tensor
            return [
                tensor(item, name) if isinstance(item, _Tensor) else self.lower(item, name)
                for item in value
            ]
        if isinstance(value, torch.Generator):
            return self._generator(value)
        if kind is torch.UntypedStorage or kind is torch.TypedStorage:
            return self._storage(value)
        return value

    def _tensor(self, value: torch.Tensor, name: str) -> torch.Tensor:
        known = self.rules
        reshapes = name in known.reshaped
        # x.add_(x) has one argument twice; attention asks whether they are one.
        alias: torch.Tensor | None = self.lowered.get(id(value))
        if alias is not None:
            if reshapes:
                forget_alias(value)
                self.reshaped.append((value, alias))
            return alias
        if known.keeps and not reshapes:
            kept = kept_alias(value)
            if kept is not None:
                again: torch.Tensor = kept[0]
                index: int = kept[1]
                if self.index < 0:
                    self.index = index
                # Two tensors that look alike are two to the CPU's operator as well.
                if index == self.index and self.homes.setdefault(id(again), value) is value:
                    self.lowered[id(value)] = again
                    self.aliases.append((value, again))
                    return again
        return self._new(value, name, reshapes)

    def _new(self, value: torch.Tensor, name: str, reshapes: bool) -> torch.Tensor:
        """Lower a tensor of which no alias is kept; what is elsewhere is not lowered."""
        known = self.rules
        device = value.device
        index = memory.index_of(device)
        if index is None:
            if name not in known.any_of:
                self.foreign.append((name, value))
            return value
        if self.index < 0:
            self.index = index
        elif index != self.index and (name not in known.any_of or name == "indices"):
            raise mixed_devices(known.facts, (memory.device(self.index), device), name)
        before = len(self.aliases)
        if value.layout is _STRIDED and not value.is_nested:
            if reshapes and name == "self" and known.facts.name.startswith("aten::set_"):
                alias = self._unread(value)
            else:
                kept_for = index if known.keeps and not reshapes else None
                alias = self._known(value, dense_alias(value, kept_for))
                self.lowered[id(value)] = alias
        else:
            alias = self.lowered[id(value)] = self._alias(value)
            if alias.layout is not _STRIDED and name in known.facts.written:
                self.sparse_written.append((value, alias))
        if reshapes:
            self.reshaped.extend(self.aliases[before:])
        return alias

    def _alias(self, value: torch.Tensor) -> torch.Tensor:
        """Make the alias of a tensor that is not dense."""
        if value.layout is _STRIDED:
            return host_alias(value)
        alias = sparse.rebuilt(value, self._dense, _CPU)
        if self.rules.facts.name in sparse.READS_REQUIRES_GRAD and torch.is_grad_enabled():
            alias.requires_grad_()
        return alias

    def _unread(self, value: torch.Tensor) -> torch.Tensor:
        """Return an empty tensor, for one that is given other memory: its own may have been freed, as FSDP does."""
        alias: torch.Tensor = torch.empty(0, dtype=value.dtype)
        return self._known(value, alias)

    def _dense(self, value: torch.Tensor) -> torch.Tensor:
        return self._known(value, dense_alias(value))

    def _known(self, value: torch.Tensor, alias: torch.Tensor) -> torch.Tensor:
        self.aliases.append((value, alias))
        self.homes[id(alias)] = value
        return alias

    def _generator(self, value: torch.Generator) -> torch.Generator | None:
        ours = generators.find(value)
        if ours is None:
            raise RuntimeError("Expected a 'sim' device type for generator but found 'cpu'")
        if isinstance(ours, rng.DefaultGenerator) and ours.linked:
            return None
        return ours

    def _storage(self, value: Any) -> torch.UntypedStorage:
        storage = value._untyped_storage if isinstance(value, torch.TypedStorage) else value
        where = memory.device(self.index) if self.index >= 0 else storage.device
        if storage.device != where:
            raise RuntimeError(
                f'Attempted to set the storage of a tensor on device "{where}" to a storage on '
                f'different device "{storage.device}".  This is no longer allowed; the devices must match.'
            )
        return memory.host_of(storage)

    def check(self) -> None:
        """Refuse to mix with tensors elsewhere, as CUDA does."""
        if self.index < 0:
            return
        known = self.rules
        for name, value in self.foreign:
            allowed = known.scalars and value.is_cpu and value.dim() == 0
            if not allowed or name in known.facts.written:
                devices = (memory.device(self.index), value.device)
                raise mixed_devices(known.facts, devices, name)

    def write_back(self) -> None:
        """Give written sim tensors the shape that the CPU's kernel gave their aliases, where it may give another."""
        for tensor, alias in self.reshaped:
            give_back(tensor, alias)
        for tensor, alias in self.sparse_written:
            sparse.assign(tensor, self._lift_sparse(alias, tensor.device.index))

    def lift(self, value: Any, index: int) -> Any:
        """Turn a result of the CPU's operator into the caller's; ``index`` is the device it belongs on."""
        if isinstance(value, _Tensor):
            if not value.is_cpu:
                return value
            home = self.homes.get(id(value))
            if home is not None:
                return home
            if index < 0:
                return value
            if value.layout is not _STRIDED:
                if sparse.has(value):
                    return self._lift_sparse(value, index)
            elif not value.is_nested:
                host = value.untyped_storage()
                if memory.may_be_known(host):
                    home = self._storages().get(id(host))
                    if home is not None:
                        return self._view(home, value)
                if not value.is_quantized:
                    return adopt_dense(value, index, host, self.rules.keeps)
            return adopt_tensor(value, index)
        if type(value) in (list, tuple):
            return type(value)(self.lift(item, index) for item in value)
        return value

    def _storages(self) -> dict[int, torch.Tensor]:
        """Return the sim tensors by the storages of their aliases, which live as long as this call."""
        if self.storages is None:
            storages = self.storages = {}
            for tensor, alias in self.aliases:
                if alias.layout is _STRIDED:
                    storages.setdefault(id(alias.untyped_storage()), tensor)
        return self.storages

    def _lift_sparse(self, value: torch.Tensor, index: int) -> torch.Tensor:
        where = memory.device(index)
        return sparse.rebuilt(value, lambda part: self.lift(part, index), where)

    def _view(self, tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is value.dtype:
            view = torch_api.view_over(tensor, value.size(), value.stride(), value.storage_offset())
            return torch_api.set_conj_neg(view, value.is_conj(), value.is_neg())
        return adopt_tensor(value, tensor.device.index)


def give_back(tensor: torch.Tensor, alias: torch.Tensor) -> None:
    """Give the sim tensor ``tensor`` memory and shape of ``alias``, which was made over its memory and then written."""
    storage = tensor.untyped_storage()
    theirs: Any = alias.untyped_storage()
    same = theirs is memory.host_of(storage)
    if same:
        memory.follow(storage)
    if (
        not same
        or tensor.size() != alias.size()
        or tensor.stride() != alias.stride()
        or tensor.storage_offset() != alias.storage_offset()
    ):
        storage = memory.adopt(theirs, tensor.device.index)
        torch_api.set_metadata(
            tensor, storage, alias.storage_offset(), alias.size(), alias.stride()
        )
    torch_api.set_conj_neg(tensor, alias.is_conj(), alias.is_neg())
