"""Makes objects count as instances of a torch class that torch itself never created.

``torch.cuda.Stream`` and its kin are real in a CUDA build of torch, with a GPU or without: to create one
starts the driver, and no other ``__new__`` may create an instance of a subclass. In any other build they are
Python classes whose bases only refuse to be created. ``isinstance`` also accepts what an object's
``__class__`` says, which serves where the class cannot be a base.
"""

from __future__ import annotations

import torch

__all__ = ["base", "class_named", "has_cuda_classes"]


def has_cuda_classes() -> bool:
    """Tell whether the classes of ``torch.cuda`` are real, and so cannot be bases."""
    return bool(torch._C._has_cuda)


def class_named(real: type) -> property:
    """Make a ``__class__`` for a class body, by which ``isinstance(x, real)`` holds for its objects."""
    return property(lambda self: real)


def base(real: type, *layout: type) -> type:
    """Make a base for a class whose objects count as instances of ``real``, in every build of torch.

    Args:
        real: the class of ``torch.cuda``.
        layout: classes of torch that such an object derives from too, for their C layout
            (``torch.Stream``, which operators with a stream argument expect).
    """
    if has_cuda_classes():
        return type(f"_{real.__name__}Base", layout, {"__class__": class_named(real)})
    return type(f"_{real.__name__}Base", (real, *layout), {})
