"""Tells what the graphs give that ``torch.compile`` makes of a program, run by eager's kernels or compiled.

Both runs have the same graphs of aten operators, forward and backward, with the same decompositions. Told are their outputs: what
goes on, and what is saved for the backward pass. More outputs would change what is fused, and with it the numbers. Which
operator inside makes the difference is searched for by halves, in graphs that end there. What the program computes outside of
graphs it computes as always.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch import fx, nn
from torch._ops import OpOverload
from torch.overrides import resolve_name

from tdev_core.backend import Backend, current
from tdev_core.measure.comparing import differ
from tdev_core.measure.digests import digest
from tdev_core.measure.places import of_program
from tdev_core.measure.ways import around_models

__all__ = ["Graphs", "Ran"]


@dataclass(frozen=True)
class Ran:
    """An operator whose result a graph has given.

    Attributes:
        phase: ``forward`` or ``backward``.
        site: ``file:line`` of the program.
        module: the innermost module, below the root's class.
        function: torch's name of what the program has called there.
        operator: the operator's name, without its library.
        name: its name in full.
        found: what came out.
        inside: searches the graph for the first operator that gives something else when it is compiled.
    """

    phase: str
    site: str
    module: str
    function: str
    operator: str
    name: str
    found: torch.Tensor
    inside: Callable[[], Ran | None] = lambda: None


class Graphs:
    """Has a program's models, or what it compiles itself, run as graphs, and tells of each of their operators."""

    def __init__(
        self,
        compiled: bool,
        searches: bool,
        told: Callable[[Ran], None],
        entered: Callable[[nn.Module], None],
    ) -> None:
        """Change nothing yet; ``entered`` is told of each model that is called.

        Where it ``searches``, it keeps the inputs of compiled graphs for :attr:`Ran.inside`.
        """
        self._compiled, self._searches = compiled, compiled and searches
        self._told, self._entered = told, entered
        self._root = ""
        self._plain = torch.compile
        self._of_modules: dict[int, Any] = {}
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Graphs:
        """Begin, before the program calls ``torch.compile``."""
        from torch._functorch import config as functorch
        from torch._inductor import config as inductor

        inductor.fallback_random = True  # the numbers that eager kernels draw
        functorch.enable_autograd_cache = False  # which keeps graphs without what we add
        self._undo.append(around_models(self._model))
        # In a process that records and does nothing else: whatever the program compiles is to be a graph that tells.
        torch.compile = self._compile
        self._undo.append(lambda: setattr(torch, "compile", self._plain))
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    # -- what is compiled ------------------------------------------------------------------------

    def _compile(self, model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda found: self._compile(found, **options)
        if options.get("disable"):
            return self._plain(model, disable=True)
        fullgraph = bool(options.get("fullgraph"))
        return self._plain(model, backend=self._backend, fullgraph=fullgraph, dynamic=False)

    def _model(self, plain: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any) -> Any:
        self._entered(module)
        self._root = type(module).__name__
        own = isinstance(module, torch._dynamo.OptimizedModule) or module._compiled_call_impl
        if own:  # by the program
            return plain(module, *args, **kwargs)
        known = self._of_modules.get(id(module))
        if known is None:
            known = self._compile(module._call_impl)
            self._of_modules[id(module)] = known
        return known(*args, **kwargs)

    def _backend(self, graph: fx.GraphModule, inputs: Any) -> Any:
        """Lower a graph of dynamo's as the compiler of this device does."""
        match current():
            case Backend.MLX:
                # By its name: a type checker would read all of mlx.
                compiler = importlib.import_module("tdev_core.accelerators.mlx.compiler.backend")

                def boxed(gm: fx.GraphModule, _: Any, **__: Any) -> Any:
                    return compiler.boxed(gm)

                return compiler.lowered(graph, inputs, self._watched(boxed))
            case Backend.CPU | Backend.CUDA | Backend.MPS | Backend.SIM:
                from torch._inductor.compile_fx import compile_fx, compile_fx_inner

                inner: Any = self._watched(compile_fx_inner)
                return compile_fx(graph, inputs, inner_compile=inner)

    # -- graphs of aten operators ----------------------------------------------------------------

    def _watched(self, compiler: Callable[..., Any]) -> Callable[..., Any]:
        """Return what compiles a graph, or has eager's kernels run it, and tells of its outputs at each call."""
        from torch._functorch.aot_autograd import make_boxed_func

        def compile(
            gm: fx.GraphModule, inputs: Any, *, is_backward: bool = False, **options: Any
        ) -> Any:
            # Compilers write to the graph that they are given.
            own = fx.GraphModule(gm, copy.deepcopy(gm.graph))
            phase, root = "backward" if is_backward else "forward", self._root
            order = {node: number for number, node in enumerate(own.graph.nodes)}
            sources = [_source(node) for node in cast("Any", own.graph.output_node().args[0])]
            if self._compiled:
                run = compiler(gm, inputs, is_backward=is_backward, **options)
            else:
                run = make_boxed_func(own.forward)

            def ends_at(node: fx.Node, args: list[Any]) -> torch.Tensor:
                (found,) = compiler(_until(own, node), args, is_backward=is_backward)(list(args))
                return cast("torch.Tensor", found)

            def ran(args: list[Any]) -> Any:
                # Before: a graph may write to them, and empties the list.
                copies = [_copied(one) for one in args] if self._searches else []
                found = run(args)
                results: dict[fx.Node, torch.Tensor] = {}
                for source, value in zip(sources, found, strict=True):
                    if source is not None and isinstance(value, torch.Tensor):
                        results[source] = value
                for source in sorted(results, key=order.__getitem__):
                    one = _ran(source, phase, root, results[source])
                    if copies:
                        search = partial(_inside, own, source, copies, ends_at)
                        one = replace(one, inside=partial(_searched, search, phase, root))
                    self._told(one)
                return found

            # How aot_autograd knows who takes a list and empties it.
            vars(ran)["_boxed_call"] = True
            return ran

        return compile


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _source(node: Any) -> fx.Node | None:
    """Return the node that has computed an output: of a view, what it is a view of; None: it is an input."""
    while isinstance(node, fx.Node) and node.op == "call_function":
        if _computes(node):
            return node
        node = next(iter(node.all_input_nodes), None)
    return None


def _until(gm: fx.GraphModule, node: fx.Node) -> fx.GraphModule:
    """Return a graph with the same inputs that ends where ``node`` is computed."""
    graph = copy.deepcopy(gm.graph)
    output = graph.output_node()
    output.args = (tuple(one for one in graph.nodes if one.name == node.name),)
    output.meta.clear()  # which is of all the outputs
    graph.eliminate_dead_code()
    return fx.GraphModule(gm, graph)


def _searched(
    search: Callable[[], tuple[fx.Node, torch.Tensor] | None], phase: str, root: str
) -> Ran | None:
    found = search()
    return None if found is None else _ran(found[0], phase, root, found[1])


def _inside(
    gm: fx.GraphModule,
    node: fx.Node,
    args: list[Any],
    ends_at: Callable[[fx.Node, list[Any]], torch.Tensor],
) -> tuple[fx.Node, torch.Tensor] | None:
    """Search, by halves, for the first operator before ``node`` whose result differs when the graph until there is compiled.

    Returns:
        Its node, and what it gives compiled; None where the compiled graph that ends at ``node`` is right.
    """
    values = _Values(gm)
    values.run(*map(_copied, args))
    before: set[fx.Node] = {node}
    for one in reversed(list(gm.graph.nodes)):
        if one in before:
            before.update(one.all_input_nodes)
    order = [one for one in gm.graph.nodes if one in before and _computes(one)]
    found: tuple[fx.Node, torch.Tensor] | None = None
    low, high = 0, len(order) - 1
    first = high  # the whole comes first: else there is nothing to search for
    while low <= high:
        value = ends_at(order[first], [_copied(one) for one in args])
        if differ(digest(values.kept[order[first]]), digest(value)):
            found, high = (order[first], value), first - 1
        else:
            low = first + 1
        first = (low + high) // 2
    return found


class _Values(fx.Interpreter):
    """Runs a graph by eager's kernels, and keeps what each node gives."""

    def __init__(self, gm: fx.GraphModule) -> None:
        super().__init__(gm, garbage_collect_values=False)
        self.kept: dict[fx.Node, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        found = super().run_node(n)
        self.kept[n] = found.clone() if isinstance(found, torch.Tensor) else found
        return found


def _computes(node: fx.Node) -> bool:
    """Tell whether a node gives a tensor that is no other's view and nobody's to write to."""
    value = node.meta.get("val")
    if node.op != "call_function" or not isinstance(value, torch.Tensor):
        return False
    target = _operator(node)
    if target is None or value.layout is not torch.strided:
        return False
    schema = target._schema
    return not schema.is_mutable and all(one.alias_info is None for one in schema.returns)


def _operator(node: fx.Node) -> OpOverload | None:
    """Return the operator whose result, or one of whose results, a node is."""
    target: Any = node.target
    if not isinstance(target, OpOverload) and node.args and isinstance(node.args[0], fx.Node):
        target = node.args[0].target  # one of several results
    return target if isinstance(target, OpOverload) else None


def _ran(node: fx.Node, phase: str, root: str, value: torch.Tensor) -> Ran:
    """Return what a node has given."""
    target = _operator(node)
    assert target is not None
    site, module, function = _place(node, root)
    operator = target._schema.name.rpartition("::")[2]
    return Ran(phase, site, module, function, operator, str(target), value)


_LINE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_STEP = re.compile(r"\.(\w+)|\['(\w+)'\]|\[(\d+)\]")


def _place(node: fx.Node, root: str) -> tuple[str, str, str]:
    """Return site, module and function of what a node is of, as dynamo and aot_autograd have noted."""
    meta = node.meta
    lines = _LINE.findall(meta.get("stack_trace") or "")
    site = next((f"{file}:{line}" for file, line in reversed(lines) if of_program(file)), "")
    modules = list((meta.get("nn_module_stack") or meta.get("fwd_nn_module_stack") or {}).values())
    module = _below(str(modules[-1][0]), root) if modules else root
    sources = meta.get("source_fn_stack") or meta.get("fwd_source_fn_stack") or ()
    return site, module, _called(sources[-1][1]) if sources else ""


def _below(path: str, root: str) -> str:
    """Return a module's path as ``named_modules`` has it: of ``L['self']._modules['0'].norm``, ``root.0.norm``."""
    steps = [next(filter(None, each)) for each in _STEP.findall(path.partition("]")[2])]
    return ".".join([root, *(one for one in steps if one not in ("_modules", "__self__"))])


def _called(source: Any) -> str:
    """Return torch's name of what dynamo has seen called: a function, a module's class, or a method of a tensor by its name."""
    if isinstance(source, str):
        return f"torch.Tensor.{source}"
    name = getattr(source, "__qualname__", str(source))
    return resolve_name(source) or f"{getattr(source, '__module__', '')}.{name}".lstrip("_.")
