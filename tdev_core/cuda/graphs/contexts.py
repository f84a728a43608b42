"""Context managers around a capture; see :mod:`tdev_core.cuda.graphs`."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import torch

from tdev_core.accelerators import instances, streams
from tdev_core.cuda.graphs.cuda_graph import CUDAGraph
from tdev_core.release import torch_release

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AcceleratorGraph", "MtiaGraphContext", "XpuGraphContext", "graph"]


class graph(torch.cuda.graphs.graph):
    """Context manager that captures its block into a graph.

    Args:
        cuda_graph: the graph.
        pool: token of a memory pool.
        stream: the stream that is current inside; a side stream by default.
        capture_error_mode: see :meth:`CUDAGraph.capture_begin`.
        enable_annotations: accepted; annotations belong to CUDA's kernels. So does ``annotation_config``, in whose
            place ``check_input_liveness`` stands before torch 2.15.
        check_input_liveness: see :meth:`CUDAGraph.capture_begin`.

    Source: ``torch.cuda.graph``.
    """

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        annotation_config: Any = None,
        check_input_liveness: bool = False,
    ) -> None:
        if torch_release < (2, 15) and annotation_config is not None:
            check_input_liveness = annotation_config
        if stream is None:
            if graph.default_capture_stream is None:
                graph.default_capture_stream = streams.Stream()
            stream = graph.default_capture_stream
        self.pool = () if pool is None else (pool,)
        self.capture_stream = stream
        self.stream_ctx = streams.stream(stream)
        self.cuda_graph: Any = cuda_graph
        self.capture_error_mode = capture_error_mode
        self.check_input_liveness = check_input_liveness

    def __enter__(self) -> None:
        streams.synchronize()
        if torch.compiler.config.force_cudagraph_gc:
            gc.collect()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(
                pool=self.pool[0] if self.pool else None,
                capture_error_mode=self.capture_error_mode,
                check_input_liveness=self.check_input_liveness,
            )
        except BaseException:
            self.stream_ctx.__exit__(None, None, None)
            raise

    def __exit__(self, *args: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*args)


class XpuGraphContext(graph):
    """``torch.xpu.graph``, which calls its first parameter ``xpu_graph``."""

    def __init__(self, xpu_graph: Any, pool: Any = None, stream: Any = None) -> None:
        super().__init__(xpu_graph, pool, stream)


class MtiaGraphContext(graph):
    """``torch.mtia.graph``, which calls its first parameter ``mtia_graph``."""

    def __init__(self, mtia_graph: Any, pool: Any = None, stream: Any = None) -> None:
        super().__init__(mtia_graph, pool, stream)


class AcceleratorGraph(CUDAGraph):
    """``torch.accelerator.Graph``: a graph that is its own context manager.

    Args:
        keep_graph: accepted.
        pool: token of a memory pool.
        capture_error_mode: see :meth:`CUDAGraph.capture_begin`.

    Source: ``torch.accelerator.Graph``.
    """

    # torch 2.11 has no such class, and its mirror no name for this one.
    __class__ = instances.class_named(getattr(torch.accelerator, "Graph", torch.cuda.CUDAGraph))

    def __new__(
        cls, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default"
    ) -> Self:
        return super().__new__(cls, keep_graph)

    def __init__(
        self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default"
    ) -> None:
        super().__init__(keep_graph)
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode

    def capture_begin(self) -> None:  # type: ignore[override]
        """Start recording, with the pool and the mode given at creation."""
        super().capture_begin(self.graph_pool, self.capture_error_mode)

    def debug_dump(self, path: str) -> None:  # type: ignore[override]  # there `debug_path`, and more
        """Write the captured operators to ``path``, as :meth:`CUDAGraph.debug_dump` does."""
        super().debug_dump(path)

    def __enter__(self) -> None:
        streams.synchronize()
        self.capture_begin()

    def __exit__(self, *exc_info: object) -> None:
        self.capture_end()
