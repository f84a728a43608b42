"""Answer torch.cuda graphs for backends without them: captured work really runs again.

``CUDAGraph.replay()`` runs the recorded operators on the current contents of their inputs and writes into
the same output tensors, random numbers drawn anew, as on CUDA. It saves Python's part of the work,
and nothing of the operators'. See ``recording`` for what is undone after a capture.

Python code inside the captured block runs once, at capture; so do calls of libraries other than
torch. A replay holds the captured tensors alive; CUDA leaves that to the program.

Imports cuda's amp and rng, accelerators and the ground.
Imported by the emitted modules of graphs; ``native_graphs`` is for those of a CUDA host.
"""

from __future__ import annotations

from tdev_core.accelerators.capturing import is_capturing as is_current_stream_capturing
from tdev_core.cuda.graphs.callables import make_graphed_callables
from tdev_core.cuda.graphs.contexts import (
    AcceleratorGraph,
    MtiaGraphContext,
    XpuGraphContext,
    graph,
)
from tdev_core.cuda.graphs.cuda_graph import CUDAGraph, graph_pool_handle

__all__ = [
    "AcceleratorGraph",
    "CUDAGraph",
    "MtiaGraphContext",
    "XpuGraphContext",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]
