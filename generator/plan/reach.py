"""Find the expression by which an emitted module reaches torch's own object."""

from __future__ import annotations

from collections.abc import Mapping

from generator.errors import GenerationError
from generator.facts.model import Member, Module

__all__ = ["Reach"]


class Reach:
    """The objects that can be reached from ``torch`` by attributes, at run time and as a type checker sees it.

    Args:
        modules: the public modules by name.
        visible: by module, the names that a type checker finds in its text.
    """

    def __init__(
        self, modules: Mapping[str, Module], visible: Mapping[str, frozenset[str]]
    ) -> None:
        self._modules = modules
        self._visible = visible

    def expression(self, member: Member) -> str:
        """Return an expression that reaches torch's own object, by attributes that lead there.

        ``torch.nn.parallel.replicate`` is a function although a module has that name too, so that
        nothing can be reached through it; and names that torch makes at run time are unknown to a
        type checker.

        Raises:
            GenerationError: no path leads there.
        """
        paths = sorted(member.exports, key=lambda path: (path != member.name, len(path), path))
        open_ = [path for path in paths if not self._shadowed(path.rpartition(".")[0])]
        if not open_:
            raise GenerationError(
                f"{member.name} cannot be reached by attributes from torch: a function hides its module. "
                "Say in generator/routes/devices.toml that none of its parameters is a device."
            )
        home, _, name = open_[0].rpartition(".")
        return open_[0] if name in self._visible.get(home, ()) else f'vars({home})["{name}"]'

    def seen(self, module: str) -> bool:
        """Tell whether a type checker that has read ``import torch`` knows the module by attributes."""
        while "." in module:
            parent, _, leaf = module.rpartition(".")
            if leaf not in self._visible.get(parent, ()):
                return False
            module = parent
        return True

    def _shadowed(self, module: str) -> bool:
        while "." in module:
            parent, _, leaf = module.rpartition(".")
            if leaf not in dict(self._modules[parent].modules):
                return True
            module = parent
        return False
