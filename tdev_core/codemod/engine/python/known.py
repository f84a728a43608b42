"""Holds the devices that other files tell of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.asked import Asked


def _nothing(_: Asked) -> bool:
    return False


def _real(_: str, __: str) -> bool:
    return True


@dataclass(frozen=True)
class Known:
    """The devices that other files tell of."""

    told: Callable[[Asked], bool] = _nothing
    """The answers of all files together; no where nobody has asked them."""
    inherits: Callable[[str, str], bool] = _real
    """Whether a base class in another file keeps a real device in an attribute; what comes from outside does."""
    words: frozenset[str] = frozenset()
    """``Class.attribute`` of each class whose base, in whatever file, holds a word in it."""
    promised: frozenset[str] = frozenset()
    """Functions that promise a ``torch.device``."""
    constants: frozenset[str] = frozenset()
    """Variables of modules that hold one wherever they are set."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """What classes and modules call devices by, by ``owner.NAME``: ``"cuda"`` of ``DeviceType.CUDA``."""
    modules: frozenset[str] = frozenset()
    """What an absolute import of the tree's own starts with."""
    of_families: frozenset[str] = frozenset()
    """``Class.name`` of what heirs in other files set, replace or call, and of what bases there set."""
    choices_stay: bool = False
    """Whether a question for CUDA that chooses beside other accelerators goes on meaning CUDA."""

    @classmethod
    def of(cls, tree: ProgramTree) -> Known:
        """Return what is known of a tree that has been surveyed."""
        told = tree.told_devices.__contains__
        return cls(
            told,
            words=tree.word_devices,
            promised=tree.give_devices,
            constants=tree.device_constants,
            spoken=tree.device_words,
            modules=tree.modules,
            of_families=tree.of_families,
            choices_stay=True,
        )

    def is_constant(self, name: str, imported_from: str) -> bool:
        """Tell whether an imported name is a constant of the tree; ``.`` for a relative import."""
        return name in self.constants and self.is_own(imported_from)

    def is_own(self, module: str) -> bool:
        """Tell whether an import is one of the tree's own; relative ones start with ``.``."""
        top = module.partition(".")[0]
        return not top or top in self.modules
