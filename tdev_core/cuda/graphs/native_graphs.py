"""``torch.xpu.graph`` and ``torch.mtia.graph`` on a CUDA host: torch's own graphs, with their parameter names."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["MtiaGraphContext", "XpuGraphContext"]


class XpuGraphContext(torch.cuda.graph):
    """``torch.xpu.graph``, which calls its first parameter ``xpu_graph``."""

    def __init__(self, xpu_graph: Any, pool: Any = None, stream: Any = None) -> None:
        super().__init__(xpu_graph, pool, stream)


class MtiaGraphContext(torch.cuda.graph):
    """``torch.mtia.graph``, which calls its first parameter ``mtia_graph``."""

    def __init__(self, mtia_graph: Any, pool: Any = None, stream: Any = None) -> None:
        super().__init__(mtia_graph, pool, stream)
