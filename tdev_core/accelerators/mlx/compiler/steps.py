"""The steps that a graph is cut into, and how each of them runs.

A `Part` is consecutive nodes that MLX compiles together; a `Call` is one node that runs by itself, on the eager device or
in Python; a `Constant` is a value that the graph holds. Each puts what it gives into the environment, by node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx import bounds, runtime
from tdev_core.accelerators.mlx.compiler.kernels import Runner, is_number, kernel_of, runner_of
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.storage import allocation, contents

__all__ = ["Call", "Constant", "Environment", "Node", "Part", "Step", "TraceError", "cut"]

Node = Any
Environment = dict[Node, Any]

COMPILATIONS = 16
"""A part is kept compiled for as many combinations of numbers; a counter that a program hands over has a new one each step."""


class TraceError(Exception):
    """A kernel could not be traced."""

    def __init__(self, node: Node) -> None:
        super().__init__(f"{node.target} could not be traced")
        self.node = node


@dataclass(frozen=True)
class Constant:
    """An attribute of the graph's module."""

    node: Node
    module: Any

    def run(self, env: Environment) -> None:
        value = self.module
        for name in str(self.node.target).split("."):
            value = getattr(value, name)
        env[self.node] = value


@dataclass(frozen=True)
class Call:
    """One operator without a kernel over arrays, on device tensors; or a computation with numbers."""

    node: Node

    def run(self, env: Environment) -> None:
        node = self.node
        args = torch.fx.node.map_arg(node.args, lambda n: _tensor(env[n]))
        kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: _tensor(env[n]))
        env[node] = node.target(*args, **kwargs)


@dataclass
class Output:
    """A node whose value leaves a part, and where its arrays stand among the part's results."""

    node: Node
    places: list[int | None]
    several: bool
    """Tell whether the node gives a list; None among its places is a None in the list."""

    def value(self, results: list[Any]) -> Any:
        values = [None if place is None else results[place] for place in self.places]
        return values if self.several else values[0]


@dataclass
class Compiled:
    """A part compiled for certain numbers. Each tracing, one for each set of shapes, writes down the same again."""

    outputs: list[Output] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    """The error to raise where the flags say so, which are then the last result; see `bounds`."""
    function: Callable[..., list[Any]] = field(init=False)


class Part:
    """Consecutive nodes that MLX compiles together, for each combination of numbers that has reached them of late."""

    def __init__(self, nodes: list[Node], wanted: Set[Node]) -> None:
        inside = set(nodes)
        inputs = dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in inside)
        self.nodes = nodes
        self.numbers = [n for n in inputs if is_number(n)]
        self.arrays = [n for n in inputs if not is_number(n)]
        self.leaving = [n for n in nodes if n in wanted or any(u not in inside for u in n.users)]
        self._compiled = lru_cache(maxsize=COMPILATIONS)(self._compile)

    def run(self, env: Environment) -> None:
        numbers = tuple(env[n] for n in self.numbers)
        compiled = self._compiled(*numbers)
        results = compiled.function(*[_array(env[n]) for n in self.arrays])
        if compiled.errors:
            _check(results[-1], compiled.errors)
        for output in compiled.outputs:
            env[output.node] = output.value(results)

    def _compile(self, *numbers: Any) -> Compiled:
        compiled = Compiled()

        def trace(*arrays: Any) -> list[Any]:
            env: Environment = dict(zip(self.numbers, numbers, strict=True))
            env.update(zip(self.arrays, arrays, strict=True))
            checks = self._apply(env)
            results: list[Any] = []
            compiled.outputs[:] = [_output(node, env[node], results) for node in self.leaving]
            compiled.errors[:] = [error for _, error in checks]
            if checks:
                results.append(mx.stack([flag for flag, _ in checks]))
            return results

        compiled.function = mx.compile(trace)
        return compiled

    def _apply(self, env: Environment) -> list[tuple[Any, Exception]]:
        """Compute every node; returns the checks of indices that this has asked for."""
        with bounds.collected() as checks:
            for node in self.nodes:
                env[node] = _applied(node, env)
        return checks


Step = Constant | Call | Part


def cut(graph_module: Any, refused: Set[Node]) -> list[Step]:
    """Cut a graph into steps, in an order in which they can run.

    Args:
        refused: nodes that must not be in a part, since they could not be traced.
    """
    nodes = graph_module.graph.nodes
    wanted = set(next(n for n in nodes if n.op == "output").all_input_nodes)
    steps: list[Step] = []
    numbers: list[Node] = []  # of numbers alone: they run before the part, which may use them
    gathered: list[Node] = []  # of the part that is growing

    def end_part() -> None:
        steps.extend(map(Call, numbers))
        if gathered:
            steps.append(Part(gathered.copy(), wanted))
        numbers.clear()
        gathered.clear()

    for node in nodes:
        if node.op in ("placeholder", "output"):
            continue
        runner = runner_of(node, refused)
        if runner is Runner.MLX:
            gathered.append(node)
        elif runner is Runner.PYTHON and not any(n in gathered for n in node.all_input_nodes):
            numbers.append(node)
        else:
            end_part()
            steps.append(Constant(node, graph_module) if node.op == "get_attr" else Call(node))
    end_part()
    return steps


def _applied(node: Node, env: Environment) -> Any:
    args = torch.fx.node.map_arg(node.args, lambda n: env[n])
    kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: env[n])
    if node.target is operator.getitem:
        return args[0][args[1]]
    try:
        return kernel_of(node.target)(*args, **kwargs)
    except Exception as error:
        raise TraceError(node) from error


def _output(node: Node, value: Any, results: list[Any]) -> Output:
    """Append the arrays of `value` to `results`; returns where they stand."""
    several = isinstance(value, (list, tuple))
    places: list[int | None] = []
    for array in value if several else [value]:
        places.append(None if array is None else len(results))
        if array is not None:
            results.append(array)
    return Output(node, places, several)


def _check(flags: Any, errors: list[Exception]) -> None:
    for hit, error in zip(runtime.values(flags), errors, strict=True):
        if hit:
            raise error


def _array(value: Any) -> Any:
    # Tracing has found that the devices fit: what lies on the CPU is a number or an index.
    return contents.resolve(contents.here(value)) if isinstance(value, torch.Tensor) else value


def _tensor(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tensor(v) for v in value]
    return allocation.wrap(value) if isinstance(value, mx.array) else value
