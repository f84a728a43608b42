"""Names what a value may be, and lists which of torch's names give a tensor."""

from __future__ import annotations

from enum import Enum, auto


class Kind(Enum):
    """One thing that a value may be."""

    CUDA = auto()
    """A string that names CUDA: ``"cuda"``, ``"cuda:1"``, ``f"cuda:{rank}"``."""
    OTHER = auto()
    """A constant that does not: ``"cpu"``, ``"meta"``, ``"mps"``, a number, a dict, a lambda."""
    DEVICE = auto()
    """A ``torch.device`` that is usable here: a tensor's own, or one that tdev made."""
    INDEX = auto()
    """A bare device index."""
    TYPED = auto()
    """The device attribute of an object that holds what a person typed (``args.device``)."""
    NONE = auto()
    TENSOR = auto()
    UNKNOWN = auto()


Kinds = frozenset[Kind]
UNKNOWN: Kinds = frozenset({Kind.UNKNOWN})
MAY_BE_CUDA: Kinds = frozenset({Kind.CUDA, Kind.INDEX, Kind.TYPED, Kind.UNKNOWN})

TENSOR_ATTRIBUTES = frozenset({"data", "grad", "T", "mT", "H"})
