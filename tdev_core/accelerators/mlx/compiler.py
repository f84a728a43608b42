"""``torch.compile(backend="mlx")``: aot_autograd's functional graphs, forward and backward, under ``mx.compile``.

A graph is cut into *parts*.  Operators with a kernel over arrays form parts that MLX compiles whole; between them, operators
without one run on the eager device (random draws natively, others through the fallback).  Integers are computed in Python:
each combination of them, and each set of shapes, is compiled anew by MLX.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import operator
import sys
from typing import Any

from tdev_core.accelerators.mlx import allocation, bounds, joint, layout, runtime, storage
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import OPERATORS

__all__ = ["announce", "backend", "compile_graph", "kernel_of"]


# --- registration without importing torch._dynamo, which costs a second -----------------------------------


def _add_backend(registry: Any) -> None:
    with contextlib.suppress(AssertionError):  # torch's "Duplicate name": it is there already
        registry.register_backend(backend, name="mlx")


def _skip_kernels(rules: Any) -> None:
    for package in ("tdev_core.accelerators.mlx", "tdev_core.accelerators.privateuse"):
        rules.add(package)


class _AfterImport(importlib.abc.MetaPathFinder):
    """Tells torch's compiler about the backend, and not to compile our kernels, as soon as it is imported."""

    tasks = {
        "torch._dynamo.backends.registry": _add_backend,
        "torch._dynamo.trace_rules": _skip_kernels,
    }

    def __init__(self) -> None:
        self.left = {name: task for name, task in self.tasks.items() if name not in sys.modules}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        task = self.left.pop(fullname, None)
        if task is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            task(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def announce() -> None:
    """Make the name "mlx" known to ``torch.compile``."""
    for name, task in _AfterImport.tasks.items():
        if name in sys.modules:
            task(sys.modules[name])
    if not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport())


def backend(graph: Any, example_inputs: Any, **options: Any) -> Any:
    """The dynamo backend. Takes no options.

    Raises:
        TypeError: options were given.
    """
    if options:
        raise TypeError(f"torch.compile(backend='mlx') takes no options, got {sorted(options)}")
    runtime.compiles = True
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def compiler(gm: Any, inputs: Any) -> Any:
        return make_boxed_func(compile_graph(gm))

    return aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        partition_fn=joint.partition,
        decompositions=joint.decompositions(kernel_of),
    )(graph, example_inputs)


# --- graphs -----------------------------------------------------------------------------------------


def kernel_of(target: Any) -> Any:
    """The kernel over arrays of an operator, or None."""
    from tdev_core.accelerators.mlx import attention
    from tdev_core.accelerators.mlx.ops import norm, views

    schema = getattr(target, "_schema", None)
    if schema is None:
        return None
    full = f"{schema.name}.{schema.overload_name or 'default'}"
    if full in attention.GRAPH:
        return attention.GRAPH[full]
    if not full.startswith("aten::"):
        return None
    full = full.removeprefix("aten::")
    if full in views.GRAPH:
        return views.GRAPH[full]
    if full in norm.GRAPH:
        return norm.GRAPH[full]
    row = OPERATORS.get(full)
    if row is None or row.raw or not row.compiled:
        return None
    return layout.follow(row.kernel) if layout.elementwise(target) else row.kernel


def _values(node: Any) -> list[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_number(node: Any) -> bool:
    return (
        all(not isinstance(v, torch.Tensor) for v in _values(node))
        and node.meta.get("val") is not None
    )


def _on_mlx(node: Any) -> bool:
    from tdev_core.accelerators.mlx.dtypes import to_mx

    return all(
        v.dtype in to_mx and v.device.type == "mlx"
        for v in _values(node)
        if isinstance(v, torch.Tensor)
    )


class _Failed(Exception):
    """A kernel could not be traced; carries the node."""


class _Part:
    """Consecutive nodes that MLX compiles together."""

    def __init__(self, nodes: list[Any], wanted: set[Any]) -> None:
        self.nodes = nodes
        inside = set(nodes)
        self.numbers = [n for n in _inputs(nodes) if _is_number(n)]
        self.arrays = [n for n in _inputs(nodes) if not _is_number(n)]
        self.outputs = [n for n in nodes if n in wanted or any(u not in inside for u in n.users)]
        self.compiled: dict[Any, Any] = {}

    def run(self, env: dict[Any, Any]) -> None:
        numbers = tuple(env[n] for n in self.numbers)
        arrays = [_array(env[n]) for n in self.arrays]
        found = self.compiled.get(numbers)
        if found is None:
            found = self.compiled[numbers] = self._compile(numbers)
        function, layout, errors = found
        flat = function(*arrays)
        if errors:
            self._check(flat[-1], errors)
        for node, places in zip(self.outputs, layout, strict=True):
            env[node] = (
                [None if p is None else flat[p] for p in places]
                if isinstance(places, list)
                else flat[places]
            )

    def _check(self, flags: Any, errors: list[Exception]) -> None:
        for hit, error in zip(runtime.values(flags), errors, strict=True):
            if hit:
                raise error

    def _compile(self, numbers: tuple[Any, ...]) -> Any:
        layout: list[Any] = []
        errors: list[Exception] = []

        def trace(*arrays: Any) -> list[Any]:
            layout.clear()
            errors.clear()
            env = dict(zip(self.numbers, numbers, strict=True)) | dict(
                zip(self.arrays, arrays, strict=True)
            )
            before, bounds.collecting = bounds.collecting, []
            try:
                for node in self.nodes:
                    env[node] = _apply(node, env)
                checks = bounds.collecting
            finally:
                bounds.collecting = before
            flat: list[Any] = []
            for node in self.outputs:
                value = env[node]
                if isinstance(value, (list, tuple)):
                    layout.append([_place(v, flat) for v in value])
                else:
                    layout.append(_place(value, flat))
            if checks:
                errors.extend(e for _, e in checks)
                flat.append(mx.stack([flag for flag, _ in checks]))
            return flat

        return mx.compile(trace), layout, errors


def _place(value: Any, flat: list[Any]) -> int | None:
    if value is None:
        return None
    flat.append(value)
    return len(flat) - 1


def _inputs(nodes: list[Any]) -> list[Any]:
    inside = set(nodes)
    seen: dict[Any, None] = {}
    for node in nodes:
        for n in node.all_input_nodes:
            if n not in inside:
                seen[n] = None
    return list(seen)


def _apply(node: Any, env: dict[Any, Any]) -> Any:
    args = torch.fx.node.map_arg(node.args, lambda n: env[n])
    kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: env[n])
    if node.target is operator.getitem:
        return args[0][args[1]]
    try:
        return kernel_of(node.target)(*args, **kwargs)
    except Exception as error:
        raise _Failed(node) from error


def _array(value: Any) -> Any:
    # Tracing has found that the devices fit: what lies on the CPU is a number or an index.
    return storage.resolve(storage.here(value)) if isinstance(value, torch.Tensor) else value


def _tensor(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tensor(v) for v in value]
    return allocation.wrap(value) if isinstance(value, mx.array) else value


def _kind(node: Any, refused: set[Any]) -> str:
    """What runs a node: "mlx", "eager" or "python"."""
    if node in refused:
        return "eager"
    if node.op == "call_function" and _is_number(node) and not _tensor_inputs(node):
        return "python"
    if node.target is operator.getitem:
        return _kind(node.args[0], refused) if node.args[0].op == "call_function" else "eager"
    known = node.op == "call_function" and kernel_of(node.target) is not None
    return (
        "mlx"
        if known and _on_mlx(node) and all(_on_mlx(n) for n in node.all_input_nodes)
        else "eager"
    )


def _tensor_inputs(node: Any) -> bool:
    return any(not _is_number(n) for n in node.all_input_nodes)


def _parts(gm: Any, refused: set[Any]) -> list[Any]:
    """Single nodes (placeholder order is kept) and `_Part` objects, in an order in which they can run."""
    output = next(n for n in gm.graph.nodes if n.op == "output")
    wanted = set(output.all_input_nodes)
    parts: list[Any] = []
    run: list[Any] = []
    late: list[Any] = []
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        kind = _kind(node, refused)
        if kind == "mlx":
            run.append(node)
        elif kind == "python" and not any(n in run for n in node.all_input_nodes):
            late.append(node)  # numbers of numbers: before the part that may use them
        else:
            parts += [*late, *([run] if run else []), [node]]
            run, late = [], []
    parts += [*late, *([run] if run else [])]
    out: list[Any] = []
    for p in parts:
        out.append(
            _Part(p, wanted)
            if isinstance(p, list) and _kind(p[0], refused) == "mlx"
            else p[0] if isinstance(p, list) else p
        )
    return out


def compile_graph(gm: Any) -> Any:
    """A function that runs the functional aten graph `gm` on device tensors.

    Takes the graph's inputs and gives its outputs, with the strides the graph says they have.
    """
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    results = next(n for n in gm.graph.nodes if n.op == "output").args[0]
    refused: set[Any] = set()
    plan: list[Any] = [_parts(gm, refused)]

    def call(*inputs: Any) -> list[Any]:
        runtime.ready()
        while True:
            env: dict[Any, Any] = dict(zip(placeholders, inputs, strict=True))
            try:
                for part in plan[0]:
                    if isinstance(part, _Part):
                        part.run(env)
                    else:
                        _run_node(gm, part, env)
            except _Failed as failure:
                node = failure.args[0]
                refused.add(node)
                plan[0] = _parts(gm, refused)
                continue
            return [_result(r, env) for r in results]

    return call


def _run_node(gm: Any, node: Any, env: dict[Any, Any]) -> None:
    if node.op == "get_attr":
        value = gm
        for name in str(node.target).split("."):
            value = getattr(value, name)
        env[node] = value
        return
    args = torch.fx.node.map_arg(node.args, lambda n: _tensor(env[n]))
    kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: _tensor(env[n]))
    env[node] = node.target(*args, **kwargs)


def _result(r: Any, env: dict[Any, Any]) -> Any:
    if not isinstance(r, torch.fx.Node):
        return r
    value = env[r]
    if not isinstance(value, mx.array):
        return value
    expected: Any = r.meta.get("val")
    strides = tuple(expected.stride()) if isinstance(expected, torch.Tensor) else None
    if strides is None or not all(isinstance(s, int) for s in strides) or expected.is_contiguous():
        return allocation.wrap(value)
    shape = value.shape
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], -shape[i]))
    dense = allocation.contiguous_strides(tuple(shape[i] for i in order))
    if not value.size or any(
        strides[i] != s for i, s in zip(order, dense, strict=True) if shape[i] != 1
    ):
        return allocation.wrap(value)
    t = allocation.new(tuple(shape), expected.dtype, strides)
    a = mx.transpose(value, order)
    t.untyped_storage()._mx = a  # type: ignore[attr-defined]
    runtime.remember(a)
    return t
