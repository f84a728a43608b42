"""A graph of aten operators, compiled: its steps run in order, and its results get the strides that torch expects.

Integers are computed in Python: each combination of them, and each set of shapes, is compiled anew by MLX.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.compiler.steps import Environment, Node, Step, TraceError, cut
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.storage import allocation

__all__ = ["CompiledGraph", "compile_graph"]


class CompiledGraph:
    """A functional aten graph as a function of device tensors.

    Takes the graph's inputs and gives its outputs, with the strides the graph says they have.
    """

    def __init__(self, graph_module: Any) -> None:
        nodes = graph_module.graph.nodes
        self._module = graph_module
        self._inputs = [n for n in nodes if n.op == "placeholder"]
        self._results = next(n for n in nodes if n.op == "output").args[0]
        self._refused: set[Node] = set()
        self._steps: list[Step] = cut(graph_module, self._refused)

    def __call__(self, *inputs: Any) -> list[Any]:
        runtime.ready()
        while True:
            env: Environment = dict(zip(self._inputs, inputs, strict=True))
            try:
                for step in self._steps:
                    step.run(env)
            except TraceError as failure:  # from here on the eager device runs that node
                self._refused.add(failure.node)
                self._steps = cut(self._module, self._refused)
                continue
            return [_result(r, env) for r in self._results]


def compile_graph(graph_module: Any) -> CompiledGraph:
    """Make a function of device tensors from a functional aten graph; see `CompiledGraph`."""
    return CompiledGraph(graph_module)


def _result(r: Any, env: Environment) -> Any:
    if not isinstance(r, torch.fx.Node):
        return r
    value = env[r]
    if not isinstance(value, mx.array):
        return value
    expected: Any = r.meta.get("val")
    strides = _dense_strides(value, expected)
    if strides is None:
        return allocation.wrap(value)
    return allocation.wrap_strided(value, expected.dtype, strides)


def _dense_strides(value: Any, expected: Any) -> tuple[int, ...] | None:
    """Read the strides that the graph expects of a result; None where row-major ones do."""
    if not isinstance(expected, torch.Tensor) or not value.size:
        return None
    strides = tuple(expected.stride())
    if not all(isinstance(s, int) for s in strides) or expected.is_contiguous():
        return None
    shape = value.shape
    order = allocation.by_stride(shape, strides)
    dense = allocation.contiguous_strides(tuple(shape[i] for i in order))
    as_they_lie = all(strides[i] == s for i, s in zip(order, dense, strict=True) if shape[i] != 1)
    return strides if as_they_lie else None
