"""Put what depends on the build of torch or on the Python into one form for all.

Seen by comparing torch 2.13.0's CPU build with its CUDA build on a machine without a GPU, and Python
3.11 with 3.13. What is dropped or fixed here is told in ``Facts.differences``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from generator.facts.model import Member, MemberKind, Module

__all__ = ["only_with_cuda", "same_members", "same_modules"]

# Classes of the CUDA build, exported wherever torch.distributed exports its process groups: one in torch 2.13, two more
# in 2.15 (ProcessGroupNCCL2, ProcessGroupNCCLLazy).
_CUDA_ONLY = "ProcessGroupNCCL"
# None in a CPU build, a number or a duration in a CUDA build; a function until Python 3.12, then a class.
_KINDS: dict[str, MemberKind] = {
    "torch.backends.cudnn.benchmark_limit": "flag",
    "torch.distributed.constants.default_pg_nccl_timeout": "instance",
    "torch.distributed.optim.optimizer.Lock": "builtin",
}
# torch replaces the text that Python 3.10 gives every enumeration; later ones give none to replace.
_UNTOLD = frozenset({"torch.distributed.rpc.backend_registry.BackendType"})


def only_with_cuda(name: str) -> bool:
    """Tell whether only a build with CUDA has ``name``; who reads names from the installed torch leaves it out."""
    return name.startswith(_CUDA_ONLY)


def same_members(members: Iterable[Member]) -> tuple[Member, ...]:
    """``members`` without those that only one build has; one kind for each setting, one text for each."""
    return tuple(
        _same(member) for member in members if not only_with_cuda(member.name.rpartition(".")[2])
    )


def _same(member: Member) -> Member:
    if member.name in _KINDS:
        return replace(member, kind=_KINDS[member.name], value=None)
    return replace(member, summary="") if member.name in _UNTOLD else member


def same_modules(modules: Iterable[Module]) -> tuple[Module, ...]:
    """``modules`` with the names that every build has."""
    return tuple(
        replace(
            module,
            names=tuple(name for name in module.names if not only_with_cuda(name)),
            declared=tuple(name for name in module.declared if not only_with_cuda(name)),
            missing=tuple(name for name in module.missing if not only_with_cuda(name)),
        )
        for module in modules
    )
