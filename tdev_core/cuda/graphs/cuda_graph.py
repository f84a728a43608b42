"""The graph object, ``torch.cuda.CUDAGraph``; see :mod:`tdev_core.cuda.graphs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tdev_core.accelerators import capturing, instances
from tdev_core.backend import unsupported
from tdev_core.cuda import rng
from tdev_core.cuda.graphs.recording import Recorder, replay
from tdev_core.cuda.memory import pools

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CUDAGraph", "graph_pool_handle"]

_RandomStates = tuple[torch.Tensor, list[torch.Tensor]]


def graph_pool_handle() -> Any:
    """Make a token for a memory pool; graphs that share one share nothing more than the token."""
    return torch.cuda._POOL_HANDLE(pools.new_id())


def _random_states() -> _RandomStates:
    return torch.get_rng_state(), rng.get_rng_state_all()


def _restore_random(states: _RandomStates) -> None:
    torch.set_rng_state(states[0])
    rng.set_rng_state_all(states[1])


if TYPE_CHECKING:
    _Base = torch.cuda.CUDAGraph
else:
    _Base = instances.base(torch.cuda.CUDAGraph)


class CUDAGraph(_Base):
    """Captured work that can be run again; also an instance of ``torch.cuda.CUDAGraph``.

    Args:
        keep_graph: accepted; it concerns CUDA's graph object, which does not exist here.

    Source: ``torch.cuda.CUDAGraph``.
    """

    def __new__(cls, keep_graph: bool = False) -> Self:
        self = object.__new__(cls)
        self._tracker = None
        return self

    def __init__(self, keep_graph: bool = False) -> None:
        self._keep = bool(keep_graph)
        self._recorder: Recorder | None = None
        self._recorded: Recorder | None = None
        self._random: _RandomStates | None = None
        self._pool: Any = None
        self._debug = False

    def capture_begin(
        self,
        pool: Any = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Start recording this thread's operators.

        Args:
            pool: token of a pool, from :func:`graph_pool_handle` or another graph's :meth:`pool`.
            capture_error_mode: ``"global"``, ``"thread_local"`` or ``"relaxed"``; they differ in what
                CUDA forbids meanwhile.
            check_input_liveness: accepted; inputs are kept alive.

        Raises:
            RuntimeError: this thread captures already, or the graph holds work.
            ValueError: an unknown ``capture_error_mode``.
        """
        modes = ("global", "thread_local", "relaxed", "default")
        if capture_error_mode not in modes:
            raise ValueError(
                f"capture_error_mode must be one of {', '.join(modes)}, got {capture_error_mode!r}"
            )
        if capturing.is_capturing():
            raise RuntimeError("a graph capture is underway in this thread; end it first")
        if self._recorded is not None:
            raise RuntimeError(
                "this graph holds captured work; call reset() before the next capture"
            )
        self._pool = pool if pool is not None else graph_pool_handle()
        self._random = _random_states()
        self._recorder = Recorder()
        self._recorder.__enter__()  # type: ignore[no-untyped-call]
        capturing.begin(self)

    def capture_end(self) -> None:
        """Stop recording; tensors that existed before and random states are as they were.

        Raises:
            RuntimeError: this graph is not capturing.
        """
        recorder, states = self._recorder, self._random
        if recorder is None or states is None:
            raise RuntimeError("capture_end() without capture_begin()")
        recorder.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._recorder, self._random = None, None
        capturing.end()
        recorder.restore()
        _restore_random(states)
        self._recorded = recorder

    def instantiate(self) -> None:
        """Do nothing: a graph can be replayed as soon as it is captured."""

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Accept it: a replay draws from the very generator that the captured operator was given."""

    def replay(self) -> None:
        """Run the captured work again.

        Raises:
            RuntimeError: nothing was captured, or a shape differs from the captured one.
        """
        if self._recorded is None:
            raise RuntimeError("replay() without a preceding successful capture")
        replay(self._recorded.calls)

    def reset(self) -> None:
        """Drop the captured work and the memory that it holds."""
        self._recorded = None

    def pool(self) -> Any:
        """Return the token of the pool, for another graph's ``pool`` argument."""
        if self._pool is None:
            raise RuntimeError("pool() without a preceding capture")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Allow :meth:`debug_dump`."""
        self._debug = True

    def debug_dump(self, debug_path: str, *, verbose: bool = True) -> None:
        """Write the captured operators to ``debug_path`` as a graph in the DOT language.

        ``verbose``, from torch 2.14 on, asks CUDA for more of each node; here each is an operator's name.

        Raises:
            RuntimeError: debugging was not enabled, or nothing was captured.
        """
        if not self._debug:
            raise RuntimeError("call enable_debug_mode() before debug_dump()")
        if self._recorded is None:
            raise RuntimeError("debug_dump() without a preceding successful capture")
        calls = self._recorded.calls
        nodes = [f'  n{number} [label="{call.name}"];' for number, call in enumerate(calls)]
        edges = [f"  n{number} -> n{number + 1};" for number in range(len(calls) - 1)]
        Path(debug_path).write_text("\n".join(["digraph captured {", *nodes, *edges, "}"]) + "\n")

    def raw_cuda_graph(self) -> int:
        """Raise UnsupportedError: there is no ``cudaGraph_t`` here."""
        unsupported("CUDAGraph.raw_cuda_graph", "there is no CUDA graph", "CUDAGraph.debug_dump")

    def raw_cuda_graph_exec(self) -> int:
        """Raise UnsupportedError: there is no ``cudaGraphExec_t`` here."""
        unsupported(
            "CUDAGraph.raw_cuda_graph_exec", "there is no CUDA graph", "CUDAGraph.debug_dump"
        )

    raw_xpu_graph = raw_cuda_graph
    raw_xpu_graph_exec = raw_cuda_graph_exec

    def get_graph_data(self) -> dict[str, Any]:
        """Raise UnsupportedError: there are no CUDA nodes here."""
        unsupported("CUDAGraph.get_graph_data", "there is no CUDA graph", "CUDAGraph.debug_dump")

    @staticmethod
    def get_currently_capturing_graph() -> Any:
        """Return the graph that this thread captures into.

        Raises:
            RuntimeError: no capture is underway.
        """
        found = capturing.graph()
        if found is None:
            raise RuntimeError("no graph capture is underway in this thread")
        return found

    def __del__(self) -> None:
        pass  # torch's would stop an input tracker, which these graphs never have
