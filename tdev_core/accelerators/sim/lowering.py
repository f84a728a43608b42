"""One operator call on its way to the CPU's kernels and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tdev_core.accelerators.privateuse import generator as generators
from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.privateuse.device_check import mixed_devices
from tdev_core.accelerators.privateuse.schema import Facts
from tdev_core.accelerators.sim import memory, rng, sparse
from tdev_core.accelerators.sim.aliasing import adopt_dense, adopt_tensor, dense_alias, host_alias

__all__ = ["Call", "give_back"]

_CPU = torch.device("cpu")
_Tensor = torch.Tensor
_STRIDED = torch.strided


class Call:
    """One call's arguments on their way to the CPU, and what is needed to bring results back.

    ``aliases`` are pairs of a dense sim tensor and the CPU tensor over its memory, the components of
    sparse arguments among them.
    ``lowered`` has what became of each argument, by identity; ``homes`` the sim tensor of each alias and of each
    alias's storage, once somebody has looked.
    """

    __slots__ = (
        "aliases",
        "any_of",
        "facts",
        "foreign",
        "homes",
        "index",
        "lowered",
        "scalars",
        "sparse_written",
    )

    def __init__(self, known: Facts, scalars: bool, any_of: frozenset[str]) -> None:
        self.facts = known
        self.scalars = scalars
        self.any_of = any_of
        self.index = -1
        self.aliases: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.lowered: dict[int, torch.Tensor] = {}
        self.sparse_written: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.foreign: list[tuple[str, torch.Tensor]] = []
        self.homes: dict[int, torch.Tensor] | None = None

    def lower(self, value: Any, name: str) -> Any:
        """Return ``value`` for the CPU's operator; lists are walked."""
        if isinstance(value, _Tensor):
            device = value.device
            if device.type != "sim":
                if name not in self.any_of:
                    self.foreign.append((name, value))
                return value
            index = device.index
            if self.index < 0:
                self.index = index
            elif index != self.index and (name not in self.any_of or name == "indices"):
                raise mixed_devices(self.facts, (memory.device(self.index), device), name)
            if self.facts.written and name == "self" and self.facts.name.startswith("aten::set_"):
                return self._unread(value)
            alias = self.lowered.get(id(value))
            if (
                alias is None
            ):  # x.add_(x) has one argument twice; attention asks whether they are one
                alias = self.lowered[id(value)] = self._alias(value)
                if alias.layout is not torch.strided and name in self.facts.written:
                    self.sparse_written.append((value, alias))
            return alias
        kind = type(value)
        if kind is list or kind is tuple:
            return self._listed(value, name)
        if isinstance(value, torch.Generator):
            return self._generator(value)
        if kind is torch.UntypedStorage or kind is torch.TypedStorage:
            return self._storage(value)
        return value

    def _listed(self, values: Sequence[Any], name: str) -> list[Any]:
        """Lower a list; what is dense and on the device of those before it, as all of an optimizer's are, at once."""
        lowered, known, aliases = [], self.lowered, self.aliases
        for value in values:
            if isinstance(value, _Tensor) and value.layout is _STRIDED and not value.is_nested:
                device = value.device
                if device.index == self.index and device.type == "sim":
                    alias = known.get(id(value))
                    if alias is None:
                        alias = known[id(value)] = dense_alias(value)
                        aliases.append((value, alias))
                    lowered.append(alias)
                    continue
            lowered.append(self.lower(value, name))
        return lowered

    def _alias(self, value: torch.Tensor) -> torch.Tensor:
        if value.layout is torch.strided:
            if not value.is_nested:
                return self._dense(value)
            return host_alias(value)
        alias = sparse.rebuilt(value, self._dense, _CPU)
        if self.facts.name in sparse.READS_REQUIRES_GRAD and torch.is_grad_enabled():
            alias.requires_grad_()
        return alias

    def _unread(self, value: torch.Tensor) -> torch.Tensor:
        """Return an empty tensor, for one that is given other memory: its own may have been freed, as FSDP does."""
        alias: torch.Tensor = torch.empty(0, dtype=value.dtype)
        self.aliases.append((value, alias))
        return alias

    def _dense(self, value: torch.Tensor) -> torch.Tensor:
        alias = dense_alias(value)
        self.aliases.append((value, alias))
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
        for name, value in self.foreign:
            allowed = self.scalars and value.is_cpu and value.dim() == 0
            if not allowed or name in self.facts.written:
                devices = (memory.device(self.index), value.device)
                raise mixed_devices(self.facts, devices, name)

    def write_back(self) -> None:
        """Give written sim tensors the shape that the CPU's kernel gave their aliases; lists in place keep theirs."""
        base = self.facts.name.partition(".")[0]
        if base.startswith("aten::_foreach_") and base.endswith("_"):
            return
        for tensor, alias in self.aliases:
            give_back(tensor, alias)
        for tensor, alias in self.sparse_written:
            sparse.assign(tensor, self._lift_sparse(alias, tensor.device.index))

    def lift(self, value: Any, index: int) -> Any:
        """Turn a result of the CPU's operator into the caller's; ``index`` is the device it belongs on."""
        if isinstance(value, _Tensor):
            if not value.is_cpu:
                return value
            homes = self._homes()
            home = homes.get(id(value))
            if home is not None:
                return home
            if index < 0:
                return value
            if sparse.has(value):
                return self._lift_sparse(value, index)
            if value.layout is _STRIDED and not value.is_nested:
                home = homes.get(id(value.untyped_storage()))
                if home is not None:
                    return self._view(home, value)
                if not value.is_quantized:
                    return adopt_dense(value, index)
            return adopt_tensor(value, index)
        if type(value) in (list, tuple):
            return type(value)(self.lift(item, index) for item in value)
        return value

    def _homes(self) -> dict[int, torch.Tensor]:
        """Return the sim tensors by their aliases and these aliases' storages, which live as long as this call."""
        if self.homes is None:
            homes = self.homes = {}
            for tensor, alias in self.aliases:
                homes[id(alias)] = tensor
                if alias.layout is _STRIDED:
                    homes.setdefault(id(alias.untyped_storage()), tensor)
        return self.homes

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
