"""The backend "mlx" of ``torch.compile``, made known without importing torch's compiler, which costs a second."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from tdev_core.accelerators import privateuse
from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.compiler import joint
from tdev_core.accelerators.mlx.compiler.graph import compile_graph
from tdev_core.accelerators.mlx.compiler.kernels import kernel_of
from tdev_core.accelerators.mlx.native import fused
from tdev_core.import_hooks import when_imported

__all__ = ["announce", "backend", "boxed", "lowered"]

_OURS = (__name__.removesuffix(".compiler.backend"), privateuse.__name__)
"""The packages in which torch's compiler must not look for something to compile."""


def announce() -> None:
    """Have torch's compiler learn of the backend, and leave our kernels alone, as soon as it is imported."""
    when_imported({"torch._dynamo.backends.registry"}, _add_backend)
    when_imported({"torch._dynamo.trace_rules"}, _skip_kernels)


def _add_backend(registry: Any) -> None:
    with contextlib.suppress(AssertionError):  # torch's "Duplicate name": it is there already
        registry.register_backend(backend, name="mlx")


def _skip_kernels(rules: Any) -> None:
    for package in _OURS:
        rules.add(package)


def backend(graph: Any, example_inputs: Any, **options: Any) -> Any:
    """Compile a graph of dynamo's. Takes no options.

    Raises:
        TypeError: options were given.
    """
    if options:
        raise TypeError(f"torch.compile(backend='mlx') takes no options, got {sorted(options)}")
    return lowered(graph, example_inputs, lambda gm, inputs, **_: boxed(gm))


def lowered(graph: Any, example_inputs: Any, inner: Callable[..., Any]) -> Any:
    """Make a forward and a backward graph of aten operators of a graph of dynamo's; ``inner`` compiles each of them."""
    fused.guard()
    runtime.compiles = True
    from torch._dynamo.backends.common import aot_autograd  # see the module's first line

    return aot_autograd(
        fw_compiler=inner,
        bw_compiler=partial(inner, is_backward=True),
        partition_fn=joint.partition,
        decompositions=joint.decompositions(kernel_of),
    )(graph, example_inputs)


def boxed(gm: Any) -> Any:
    """Compile a graph of aten operators, to be called with a list of its inputs."""
    from torch._functorch.aot_autograd import make_boxed_func

    return make_boxed_func(compile_graph(gm))
