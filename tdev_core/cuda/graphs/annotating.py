"""``torch.cuda.graph_annotations`` where a graph replays operators: there are no kernels of CUDA's to annotate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark_kernels"]


@contextmanager
def mark_kernels(annotation: str | dict[str, Any]) -> Iterator[None]:
    """Annotate nothing, as torch's own does where annotations are not available.

    Raises:
        TypeError: the annotation is neither a text nor a dictionary.

    Source: ``torch.cuda.graph_annotations.mark_kernels``.
    """
    if not isinstance(annotation, (str, dict)):
        raise TypeError(f"annotation must be a str or a dict, got {type(annotation).__name__}")
    yield
